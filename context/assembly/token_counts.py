"""Token counts of messages and tools. Pure.

Providers do not publish the overhead of a message; their own examples count four tokens each. An
image counts as much as a large one costs. A PDF and a recording in base64 count by their size,
because their pages and seconds are unknown, except the seconds of a WAV file.
"""

import json
from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any

from context.assembly.messages import Message, content_parts, list_calls
from kmapp.text.token_counter import count_tokens

encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
MESSAGE_OVERHEAD = 4  # tokens of a message besides its content
IMAGE_TOKENS = 1_105  # a picture of 1024 by 1536 pixels in full detail
PDF_PAGE_BYTES = 50_000
PDF_PAGE_TOKENS = 3_000  # a page counts as its text and an image
AUDIO_SECOND_BYTES = 8_000  # at 64 kbit/s
AUDIO_SECOND_TOKENS = 10  # OpenAI's guide to the costs of audio: a token for each 100 ms of a user
WAV_HEAD = 4_096  # characters of base64 in which the format of a WAV file is looked up
# How a PDF begins, as a data URL or in base64.
PDF_STARTS = ("data:application/pdf", "JVBERi")
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
    estimate = _estimate_file(part)
    return count_json(part) if estimate is None else estimate


def _estimate_file(part: Mapping[str, Any]) -> int | None:
    """Return the estimated tokens of a PDF or a recording in base64; None for other parts."""
    match part:
        case {"type": "input_audio", "input_audio": {"data": str(data)}}:
            second_bytes = _find_wav_rate(data) or AUDIO_SECOND_BYTES
            return _estimate_units(data, second_bytes) * AUDIO_SECOND_TOKENS
        case (
            {"type": "file", "file": {"file_data": str(data)}}
            | {"type": "input_file", "file_data": str(data)}
            | {"type": "document", "source": {"type": "base64", "data": str(data)}}
        ) if data.startswith(PDF_STARTS):
            return _estimate_units(data, PDF_PAGE_BYTES) * PDF_PAGE_TOKENS
    return None


def _find_wav_rate(encoded: str) -> int | None:
    """Return the bytes of a second that a WAV file in base64 states; None for other files."""
    try:
        head = b64decode(encoded[:WAV_HEAD])
    except ValueError:
        return None
    if head[:4] != b"RIFF" or head[8:12] != b"WAVE":
        return None
    start = 12  # of a chunk: its name, its size, and its data of this size, padded to an even one
    while start + 20 <= len(head):
        if head[start : start + 4] == b"fmt ":
            return int.from_bytes(head[start + 16 : start + 20], "little") or None
        size = int.from_bytes(head[start + 4 : start + 8], "little")
        start += 8 + size + size % 2
    return None


def _estimate_units(encoded: str, unit_bytes: int) -> int:
    """Return how many units of this size the base64 text has, rounded up."""
    size = len(encoded) * 3 // 4
    return -(-size // unit_bytes)


def count_json(value: Any) -> int:
    return count_tokens(value) if isinstance(value, str) else count_tokens(encode_json(value))
