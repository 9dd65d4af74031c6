"""Tokens of messages and tools. Pure.

What providers add around a message is not published; four tokens each is what their own examples
count. An image counts as much as a large one costs.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from context.assembly.messages import Message, calls_of
from kmapp.text.tokens import count

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
AROUND = 4  # tokens beside a message's content
IMAGE = 1_105  # a picture of 1024 by 1536 pixels in full detail


def of_message(message: Message) -> int:
    return AROUND + of_results(message) + of_words(message)


def of_messages(messages: Iterable[Message]) -> int:
    return sum(map(of_message, messages))


def of_results(message: Message) -> int:
    """What tools returned in it."""
    content = message.get("content")
    if message["role"] == "tool":
        return _content(content)
    parts = content if isinstance(content, list) else []
    return sum(_content(each.get("content")) for each in parts if each.get("type") == "tool_result")


def of_words(message: Message) -> int:
    """All else in it: words, pictures, calls."""
    called = sum(count(call.name) + of_json(call.input) for call in calls_of(message))
    content = message.get("content")
    if message["role"] == "tool":
        return called
    if isinstance(content, str):
        return called + count(content)
    parts = content if isinstance(content, list) else []
    kinds = ("tool_result", "tool_use")
    return called + sum(_part(part) for part in parts if part.get("type") not in kinds)


def _content(content: Any) -> int:
    if isinstance(content, str):
        return count(content)
    return sum(map(_part, content)) if isinstance(content, list) else 0


def _part(part: Mapping[str, Any]) -> int:
    if isinstance(part.get("text"), str):
        return count(part["text"])
    if part.get("type") in ("image", "image_url", "input_image"):
        return IMAGE
    return of_json(part)


def of_json(value: Any) -> int:
    return count(value) if isinstance(value, str) else count(compact(value))


def compact(value: Any) -> str:
    return _encode(value)
