"""What agents send to have a call assembled, field by field."""

from collections.abc import Mapping, Sequence
from typing import Any

from rest_framework import serializers

from context.api.request_serializers import IdField, LanguageField, MessagesInput, within_of
from context.assembly.calls import ANTHROPIC, OPENAI, Section
from context.assembly.policies import DEFAULT, BadPolicy
from context.assembly.sources import SOURCES
from context.assembly.stages import Request
from context.assembly.tool_offer import GROUPS, PROFILES
from context.models.settings import LONGEST
from kmapp.accounts.authentication import AgentRequest
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import Typed
from kmapp.search.variants import Variant

WINDOW = 128_000
RESERVE = 4_096
MOST_TOKENS = 10_000_000
MOST_TOOLS = 500
# What a key must be allowed before a source answers it.
READS = {
    "memory": Scope.MEMORY_READ,
    "knowledge": Scope.KNOWLEDGE_READ,
    "lore": Scope.KNOWLEDGE_READ,
    "rules": Scope.RULES_READ,
}


def check_policy(value: dict[str, Any]) -> dict[str, Any]:
    """The changes of a policy, if calls can be assembled by them."""
    try:
        DEFAULT.with_changes(value)
    except BadPolicy as error:
        raise serializers.ValidationError({error.name: error.reason}) from error
    return value


class SectionInput(Typed):
    """A part of the prompt. What changes from call to call is not stable: it goes to the tail."""

    name = serializers.CharField(max_length=100)
    text = serializers.CharField(max_length=LONGEST, trim_whitespace=False)
    stable = serializers.BooleanField(default=True)


def _names(**kwargs: Any) -> serializers.ListField:
    return serializers.ListField(child=serializers.CharField(max_length=200), **kwargs)


class AssembleInput(MessagesInput):
    """A call to be assembled: the conversation, tools, and how much room there is."""

    app_id = IdField()
    scope = IdField()
    model = serializers.CharField(max_length=100, required=False, allow_blank=True)
    system = serializers.CharField(
        max_length=LONGEST,
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text="The system prompt, if it is not among the messages.",
    )
    sections = SectionInput(many=True, required=False)
    tools = serializers.ListField(
        child=serializers.DictField(), max_length=MOST_TOOLS, required=False
    )
    tool_groups = serializers.DictField(
        child=serializers.ChoiceField(GROUPS), required=False, help_text="Groups by tool."
    )
    required_tools = _names(max_length=MOST_TOOLS, required=False)
    tool_profile = serializers.ChoiceField(tuple(PROFILES), default="full")
    provider = serializers.ChoiceField(
        (OPENAI, ANTHROPIC), required=False, help_text="By default as the messages are spelt."
    )
    context_window_tokens = serializers.IntegerField(
        min_value=1, max_value=MOST_TOKENS, default=WINDOW
    )
    reserved_output_tokens = serializers.IntegerField(
        min_value=0, max_value=MOST_TOKENS, default=RESERVE
    )
    query = serializers.CharField(
        max_length=4_000,
        required=False,
        allow_blank=True,
        help_text="What to look for; by default the user's last words.",
    )
    sources = serializers.ListField(
        child=serializers.ChoiceField(tuple(SOURCES)), default=list(SOURCES)
    )
    limit = serializers.IntegerField(min_value=1, max_value=50, default=10)
    knowledge_sources = _names(max_length=100, required=False)
    lorebooks = _names(max_length=100, required=False)
    rules_context = serializers.DictField(required=False)
    policy = serializers.DictField(
        required=False, help_text=f"Other values for any of {', '.join(DEFAULT.body())}."
    )
    language = LanguageField()

    def validate_policy(self, value: dict[str, Any]) -> dict[str, Any]:
        """Each value is one that calls can be assembled by."""
        return check_policy(value)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """There is room for something."""
        if attrs["reserved_output_tokens"] >= attrs["context_window_tokens"]:
            raise serializers.ValidationError(
                {"reserved_output_tokens": "leaves nothing of the context window"}
            )
        return attrs


def request_of(request: AgentRequest, asked: Mapping[str, Any], variant: Variant | None) -> Request:
    """The same in the words of the assembler. A source that the key may not read is not asked."""
    principal = request.auth
    wanted = list(dict.fromkeys(asked["sources"]))
    refused = [name for name in wanted if not principal.may(READS[name])]
    return Request(
        account_id=principal.account_id,
        actor=principal.actor,
        messages=asked["messages"],
        window=asked["context_window_tokens"],
        reserve=asked["reserved_output_tokens"],
        tools=asked.get("tools", ()),
        sections=_sections(asked),
        within=within_of(asked),
        agent_id=asked.get("agent_id") or "",
        app_id=asked.get("app_id") or "",
        scope=asked.get("scope") or "",
        model=asked.get("model") or "",
        query=asked.get("query") or "",
        language=asked.get("language") or "",
        provider=asked.get("provider") or "",
        profile=asked["tool_profile"],
        groups=asked.get("tool_groups", {}),
        required_tools=tuple(asked.get("required_tools", ())),
        sources=tuple(name for name in SOURCES if name in wanted and name not in refused),
        refused_sources=tuple(refused),
        may_flush=principal.may(Scope.MEMORY_WRITE),
        limit=asked["limit"],
        knowledge_sources=tuple(asked.get("knowledge_sources", ())),
        lorebooks=tuple(asked.get("lorebooks", ())),
        rules_context=asked.get("rules_context", {}),
        policy=asked.get("policy", {}),
        variant=variant,
    )


def _sections(asked: Mapping[str, Any]) -> Sequence[Section]:
    given = [Section(**each) for each in asked.get("sections", ())]
    if asked.get("system"):
        given.insert(0, Section(name="system", text=asked["system"]))
    return given
