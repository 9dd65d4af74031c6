"""Request serializers of context."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from context.assembly.messages import ROLES, InvalidMessages, check_messages, last_user_text
from context.assembly.retrieval_request import MAX_QUERY_LENGTH
from context.models.archives import ArchiveScope
from context.models.settings import MAX_LENGTH, Language
from kmapp.api.message_content import content_text
from kmapp.api.serializers import Aliases, IdField, OptionalText, Typed, alias_help
from kmapp.ledger.canonical import MAX_INTEGER

MAX_MESSAGES = 5_000


class Conversation(Aliases):
    """The conversation and its participants."""

    aliases: ClassVar[Mapping[str, str]] = {
        "run_id": "conversation_id",
        "session_id": "conversation_id",
    }

    conversation_id = IdField()
    thread_id = IdField()
    user_id = IdField()
    agent_id = IdField()


def build_scope(params: Mapping[str, Any]) -> ArchiveScope:
    names = ("conversation_id", "thread_id", "user_id", "tool_name")
    return ArchiveScope(**{name: params.get(name) or "" for name in names})


class LanguageField(serializers.ChoiceField):
    def __init__(self) -> None:
        super().__init__(choices=Language.choices, required=False, allow_null=True)


class ResultInput(Conversation):
    """A tool's result: text, or JSON, which is stored as text.

    The message of a chat API is accepted too: `content` is a text, or a list of parts with text.
    """

    aliases = {
        **Conversation.aliases,
        "content": "result",
        "output": "result",
        "name": "tool_name",
        "arguments": "tool_input",
        "input": "tool_input",
        "tool_use_id": "tool_call_id",
        "call_id": "tool_call_id",
    }
    other_names = ("role", "type")  # of a message

    tool_name = serializers.CharField(max_length=100)
    tool_input = serializers.JSONField(required=False, allow_null=True)
    tool_call_id = IdField()
    result = serializers.JSONField()
    sources = serializers.ListField(
        child=serializers.CharField(max_length=500), max_length=100, required=False
    )
    language = LanguageField()
    threshold = serializers.IntegerField(
        min_value=0,
        max_value=MAX_LENGTH,
        required=False,
        help_text="Characters above which the result is archived; overrides the account's setting.",
    )

    def to_internal_value(self, data: Any) -> Any:
        """Read the parts of a message as one text."""
        if isinstance(data, Mapping) and (text := content_text(data.get("content"))) is not None:
            data = {**data, "content": text}
        return super().to_internal_value(data)


class ArchivesInput(Conversation):
    """A filter of tool results."""

    tool_name = serializers.CharField(max_length=100, required=False)
    before = serializers.UUIDField(required=False, help_text="The last id of the previous page.")
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)


class LoadInput(Conversation):
    """The part of a tool result to load: all, characters from `start` to `end`, or passages."""

    query = serializers.CharField(max_length=MAX_QUERY_LENGTH, required=False)
    max_tokens = serializers.IntegerField(min_value=50, max_value=100_000, default=2_000)
    start = serializers.IntegerField(min_value=0, max_value=MAX_INTEGER, required=False)
    end = serializers.IntegerField(min_value=0, max_value=MAX_INTEGER, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Reject a range together with a query, and an empty range."""
        if attrs.get("query") and (attrs.get("start") is not None or attrs.get("end") is not None):
            raise serializers.ValidationError(
                {"query": "Send either a query or a range, not both."}
            )
        if attrs.get("end") is not None and attrs["end"] < attrs.get("start", 0):
            raise serializers.ValidationError({"end": "must not be before start"})
        return attrs


class LoadCallInput(LoadInput):
    """The arguments of `load_tool_history`; optional ones may be null."""

    uuid = serializers.UUIDField()
    query = OptionalText(max_length=MAX_QUERY_LENGTH)


class ResultsSearchInput(Conversation):
    """A search of tool results."""

    together = {
        "anyOf": [
            alias_help("conversation_id"),
            {"required": ["across"], "properties": {"across": {"const": True}}},
        ]
    }

    query = serializers.CharField(max_length=MAX_QUERY_LENGTH)
    tool_name = serializers.CharField(max_length=100, required=False)
    across = serializers.BooleanField(
        default=False, help_text="Also in other conversations, if the account allows it."
    )
    limit = serializers.IntegerField(min_value=1, max_value=50, default=10)


@extend_schema_field(
    {
        "type": "array",
        "maxItems": MAX_MESSAGES,
        "items": {
            "type": "object",
            "properties": {"role": {"type": "string", "enum": sorted(ROLES)}},
            "required": ["role"],
            "additionalProperties": {},
        },
    }
)
class MessagesField(serializers.ListField):
    """Messages in the format of OpenAI or Anthropic."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=serializers.DictField(), max_length=MAX_MESSAGES, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        """Return the messages unchanged after validation."""
        if not isinstance(data, list):
            self.fail("not_a_list", input_type=type(data).__name__)
        if len(data) > MAX_MESSAGES:
            raise serializers.ValidationError(f"{len(data)} messages; send at most {MAX_MESSAGES}.")
        try:
            check_messages(data)
        except InvalidMessages as error:
            raise serializers.ValidationError(_nest(error)) from error
        return data


def _nest(error: InvalidMessages) -> dict[str, Any]:
    """Return the error at its path below the field."""
    place, _, reason = str(error).partition(": ")
    nested: Any = [reason]
    for name in reversed(place.split(".")[1:]):
        nested = {name: nested}
    return cast("dict[str, Any]", nested)


class MessagesInput(Conversation):
    """A conversation."""

    messages = MessagesField()


class PrepareInput(MessagesInput):
    """A conversation, and which results to load."""

    LOADS = ("none", "keywords", "semantic", "hybrid")

    keep_turns = serializers.IntegerField(min_value=0, max_value=100, default=1)
    query = serializers.CharField(max_length=MAX_QUERY_LENGTH, required=False, allow_blank=True)
    load = serializers.ChoiceField(choices=LOADS, default="none")
    load_uuids = serializers.ListField(child=serializers.UUIDField(), max_length=20, required=False)
    load_limit = serializers.IntegerField(min_value=1, max_value=20, default=1)
    max_tokens = serializers.IntegerField(
        min_value=50,
        max_value=100_000,
        required=False,
        help_text="Tokens of each loaded result: passages about `query` or the last user message.",
    )
    language = LanguageField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Reject a request for passages about nothing."""
        has_query = attrs.get("query") or last_user_text(attrs["messages"])
        if attrs.get("max_tokens") and attrs.get("load_uuids") and not has_query:
            raise serializers.ValidationError(
                {"query": "Send a query, or leave out max_tokens: no user message has a text."}
            )
        return attrs


class PagesInput(Typed):
    """A page of a list."""

    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    offset = serializers.IntegerField(min_value=0, max_value=1_000_000, default=0)


class LanguageInput(Typed):
    """A language."""

    language = LanguageField()
