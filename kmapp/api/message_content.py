"""The text of messages and of tool results, in the shapes of chat APIs."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

_PARTS = {
    "type": "array",
    "minItems": 1,
    "items": {
        "oneOf": [
            {"type": "string"},
            {
                "type": "object",
                "properties": {"type": {"type": "string"}, "text": {"type": "string"}},
                "required": ["text"],
            },
        ]
    },
}


def content_text(content: Any) -> str | None:
    """Return a text, or the texts of a list of parts joined by newlines; None for anything else."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not content:
        return None
    parts = [_part_text(part) if isinstance(part, Mapping) else part for part in content]
    texts = [part for part in parts if isinstance(part, str)]
    return "\n".join(texts) if len(texts) == len(parts) else None


def _part_text(part: Mapping[str, Any]) -> Any:
    return part.get("text") if isinstance(part.get("type", "text"), str) else None


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string"},
            {
                "type": "object",
                "description": "A message. Its role and other fields are not used.",
                "properties": {"content": {"oneOf": [{"type": "string"}, _PARTS]}},
                "required": ["content"],
            },
        ]
    }
)
class MessageTextField(serializers.Field[str, Any, Any, Any]):
    """A message as a text, or as an object with role and content."""

    def __init__(self, max_length: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.text = serializers.CharField(
            max_length=max_length, allow_blank=True, trim_whitespace=False
        )

    def to_internal_value(self, data: Any) -> str:
        """Return the text. Raise a validation error if there is none, or if it is too long."""
        text = content_text(data.get("content") if isinstance(data, Mapping) else data)
        if text is None:
            raise serializers.ValidationError("Send a text, or a message with role and content.")
        return str(self.text.run_validation(text))
