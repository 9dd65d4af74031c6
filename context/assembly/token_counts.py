"""Token counts of messages and tools. Pure.

Providers do not publish the overhead of a message; their own examples count four tokens each. An
image counts as much as a large one costs.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from context.assembly.messages import Message, content_parts, list_calls
from kmapp.text.token_counter import count_tokens

encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
MESSAGE_OVERHEAD = 4  # tokens of a message besides its content
IMAGE_TOKENS = 1_105  # a picture of 1024 by 1536 pixels in full detail
# Counted by themselves, or part of the overhead. Others, such as the reasoning that some providers
# expect to be sent back, take tokens too.
COMMON_FIELDS = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})


def count_message(message: Message) -> int:
    return MESSAGE_OVERHEAD + count_results(message) + count_text(message)


def count_messages(messages: Iterable[Message]) -> int:
    return sum(map(count_message, messages))


def count_results(message: Message) -> int:
    if message["role"] == "tool":
        return _content(message.get("content"))
    parts = content_parts(message)
    return sum(_content(part.get("content")) for part in parts if part.get("type") == "tool_result")


def count_text(message: Message) -> int:
    """Count everything else of a message: text, images, calls, and what a provider added."""
    counted = sum(count_tokens(call.name) + count_json(call.input) for call in list_calls(message))
    counted += sum(
        count_json(value)
        for name, value in message.items()
        if name not in COMMON_FIELDS and value is not None
    )
    content = message.get("content")
    if message["role"] == "tool":
        return counted
    if isinstance(content, str):
        return counted + count_tokens(content)
    kinds = ("tool_result", "tool_use")
    parts = content_parts(message)
    return counted + sum(_part(part) for part in parts if part.get("type") not in kinds)


def _content(content: Any) -> int:
    if isinstance(content, str):
        return count_tokens(content)
    return sum(map(_part, content)) if isinstance(content, list) else 0


def _part(part: Mapping[str, Any]) -> int:
    if isinstance(part.get("text"), str):
        return count_tokens(part["text"])
    if part.get("type") in ("image", "image_url", "input_image"):
        return IMAGE_TOKENS
    return count_json(part)


def count_json(value: Any) -> int:
    return count_tokens(value) if isinstance(value, str) else count_tokens(encode_json(value))
