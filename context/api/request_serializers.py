"""What agents send to context, field by field."""

from collections.abc import Mapping
from typing import Any, ClassVar

from rest_framework import serializers

from context.assembly.messages import NotMessages, check
from context.models.archives import Within
from context.models.settings import LONGEST, Language
from kmapp.api.serializers import Aliases, Typed, alias_help
from kmapp.ledger.canonical import LARGEST_INTEGER

ID = 200
MESSAGES = 5_000


class IdField(serializers.CharField):
    """An id of the client's own making."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=ID, required=False, allow_blank=True, allow_null=True, **kwargs)


class Conversation(Aliases):
    """Which conversation, and whose."""

    aliases: ClassVar[Mapping[str, str]] = {
        "run_id": "conversation_id",
        "session_id": "conversation_id",
    }

    conversation_id = IdField()
    thread_id = IdField()
    user_id = IdField()
    agent_id = IdField()


def within_of(asked: Mapping[str, Any]) -> Within:
    named = ("conversation_id", "thread_id", "user_id", "tool_name")
    return Within(**{name: asked.get(name) or "" for name in named})


class LanguageField(serializers.ChoiceField):
    def __init__(self) -> None:
        super().__init__(choices=Language.choices, required=False, allow_null=True)


class ResultInput(Conversation):
    """What a tool returned: a text, or JSON, which is kept as text."""

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
        max_value=LONGEST,
        required=False,
        help_text="Characters above which the result is kept apart, instead of the account's.",
    )


class ArchivesInput(Conversation):
    """Which tool results to list."""

    tool_name = serializers.CharField(max_length=100, required=False)
    before = serializers.UUIDField(required=False, help_text="The last one you have.")
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)


class LoadInput(Conversation):
    """How much of a tool result: all, characters from `start` to `end`, or passages."""

    query = serializers.CharField(max_length=4000, required=False)
    max_tokens = serializers.IntegerField(min_value=50, max_value=100_000, default=2_000)
    start = serializers.IntegerField(min_value=0, max_value=LARGEST_INTEGER, required=False)
    end = serializers.IntegerField(min_value=0, max_value=LARGEST_INTEGER, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """A range or a question."""
        if attrs.get("query") and (attrs.get("start") is not None or attrs.get("end") is not None):
            raise serializers.ValidationError({"query": "Give a query or a range, not both."})
        if attrs.get("end") is not None and attrs["end"] < attrs.get("start", 0):
            raise serializers.ValidationError({"end": "lies before start"})
        return attrs


class LoadCallInput(LoadInput):
    """The arguments of `load_tool_history`; what is not wanted may be null."""

    uuid = serializers.UUIDField()
    query = serializers.CharField(
        max_length=4000, required=False, allow_null=True, allow_blank=True
    )


class ResultsSearchInput(Conversation):
    """What to find among tool results."""

    together = {
        "anyOf": [
            alias_help("conversation_id"),
            {"required": ["across"], "properties": {"across": {"const": True}}},
        ]
    }

    query = serializers.CharField(max_length=4000)
    tool_name = serializers.CharField(max_length=100, required=False)
    across = serializers.BooleanField(
        default=False, help_text="Also in other conversations, if the account allows it."
    )
    limit = serializers.IntegerField(min_value=1, max_value=50, default=10)


class MessagesField(serializers.ListField):
    """Messages as OpenAI or Anthropic spell them."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=serializers.DictField(), max_length=MESSAGES, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        """As they came, once each of them can be read."""
        if not isinstance(data, list):
            self.fail("not_a_list", input_type=type(data).__name__)
        if len(data) > MESSAGES:
            raise serializers.ValidationError(f"{len(data)} messages; send at most {MESSAGES}.")
        try:
            check(data)
        except NotMessages as error:
            raise serializers.ValidationError(str(error)) from error
        return data


class MessagesInput(Conversation):
    """A conversation."""

    messages = MessagesField()


class PrepareInput(MessagesInput):
    """A conversation, and what of it is to be whole."""

    LOADS = ("none", "keywords", "semantic", "hybrid")

    keep_turns = serializers.IntegerField(min_value=0, max_value=100, default=1)
    query = serializers.CharField(max_length=4000, required=False, allow_blank=True)
    load = serializers.ChoiceField(choices=LOADS, default="none")
    load_uuids = serializers.ListField(child=serializers.UUIDField(), max_length=20, required=False)
    load_limit = serializers.IntegerField(min_value=1, max_value=20, default=1)
    max_tokens = serializers.IntegerField(min_value=50, max_value=100_000, required=False)
    language = LanguageField()


class LanguageInput(Typed):
    """In which language."""

    language = LanguageField()
