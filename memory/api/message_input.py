"""Messages in the shapes of clients: a text, a message or a list, with images."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kmapp.api.serializers import MAX_ID_LENGTH, present
from kmapp.errors import Invalid
from kmapp.providers import chat
from memory.api.shared_request_serializers import MAX_TEXT_LENGTH
from memory.extraction.conversation import USER, Message

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
MAX_MESSAGES = 200
MAX_IMAGES = 20
IMAGE_URL_PATTERN = re.compile(
    r"(?:https://[^\s]{1,2000}|data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2})"
)

_PART = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "enum": ["text", "image_url"]},
        "text": {"type": "string"},
        "image_url": {
            "oneOf": [
                {"type": "string"},
                {"type": "object", "properties": {"url": {"type": "string"}}},
            ]
        },
    },
}
_PARTS = {"type": "array", "items": {"oneOf": [{"type": "string"}, _PART]}}
# Chat APIs leave out the content of a message that only calls tools, or send null.
_CALLS_TOOLS = {
    "required": ["tool_calls"],
    "properties": {"tool_calls": {"not": {"enum": [None, False, 0, "", [], {}]}}},
}
_MESSAGE = {
    "type": "object",
    "properties": {
        "role": {"type": "string", "enum": list(ROLES)},
        "content": {"oneOf": [{"type": "string"}, _PART, _PARTS, {"type": "null"}]},
        "name": {"type": "string"},
    },
    "required": ["role"],
    "anyOf": [present("content"), _CALLS_TOOLS],
}


@extend_schema_field(
    {"oneOf": [{"type": "string"}, _MESSAGE, {"type": "array", "items": _MESSAGE}]}
)
class MessagesField(serializers.Field[list[Message], Any, Any, Any]):
    """Messages; a text is a message of the user."""

    def to_internal_value(self, data: Any) -> list[Message]:
        """Return the messages. Raise a validation error for the first invalid one."""
        if isinstance(data, str):
            data = {"role": USER, "content": data}
        items = [data] if isinstance(data, Mapping) else data
        if not isinstance(items, list) or not items:
            raise serializers.ValidationError("Send a text, a message, or a list of messages.")
        if len(items) > MAX_MESSAGES:
            raise serializers.ValidationError(
                f"{len(items)} messages; send at most {MAX_MESSAGES} at a time."
            )
        messages = [_parse_message(each, number) for number, each in enumerate(items)]
        if sum(len(message.images) for message in messages) > MAX_IMAGES:
            raise serializers.ValidationError(f"Send at most {MAX_IMAGES} pictures at a time.")
        return messages


def _parse_message(each: Any, number: int) -> Message:
    if not isinstance(each, Mapping):
        raise _build_error(number, "is not a message; send role and content")
    role, name = each.get("role"), each.get("name") or ""
    if role not in ROLES:
        raise _build_error(number, f"has no role of {', '.join(ROLES)}")
    if not isinstance(name, str) or len(name) > MAX_ID_LENGTH:
        raise _build_error(
            number, f"has a name that is not a string of at most {MAX_ID_LENGTH} characters"
        )
    parts = each.get("content")
    if parts is None and each.get("tool_calls"):
        parts = []
    parts = parts if isinstance(parts, list) else [parts]
    texts = [text for part in parts if (text := _parse_text(part, number)) is not None]
    images = [_parse_image(part, number) for part in parts if _parse_text(part, number) is None]
    text = "\n".join(texts)
    if len(text) > MAX_TEXT_LENGTH:
        raise _build_error(number, f"is longer than {MAX_TEXT_LENGTH} characters")
    return Message(role=role, text=text, name=name, images=images)


def _parse_text(part: Any, number: int) -> str | None:
    """Return the text of a part, or None for an image."""
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and part.get("type") == "text":
        if isinstance(part.get("text"), str):
            return str(part["text"])
        raise _build_error(number, "has a part of type text without text")
    if isinstance(part, Mapping) and part.get("type") == "image_url":
        return None
    raise _build_error(
        number, "has content that is neither text nor a part of type text or image_url"
    )


def _parse_image(part: Mapping[str, Any], number: int) -> str:
    source = part.get("image_url")
    url = source.get("url") if isinstance(source, Mapping) else source
    if not isinstance(url, str) or not IMAGE_URL_PATTERN.fullmatch(url):
        raise _build_error(number, "has a picture that is neither https:// nor data:image/…;base64")
    return url


def _build_error(number: int, why: str) -> serializers.ValidationError:
    return serializers.ValidationError(f"Message {number} {why}.")


def refuse_unreadable_images(messages: Sequence[Message], *, infer: bool) -> None:
    """Refuse images if no model is configured that can describe them."""
    numbers_with_images = [n for n, message in enumerate(messages) if message.images]
    if not numbers_with_images:
        return
    issues = [
        {"path": f"messages.{n}", "message": "contains an image"} for n in numbers_with_images
    ]
    if not infer:
        raise Invalid(
            "A picture is described by a model: send infer true, or the words alone.",
            code="picture_without_infer",
            issues=issues,
        )
    if not chat.supports_images():
        raise Invalid(
            "No model that sees pictures is configured (VISION_MODEL): send the words alone.",
            code="no_vision_model",
            issues=issues,
        )
