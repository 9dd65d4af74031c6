"""Input of call assembly."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from rest_framework import serializers

from context.api.request_serializers import LanguageField, MessagesInput, build_scope
from context.assembly.assembly_policy import DEFAULT, InvalidPolicy
from context.assembly.prompt_inputs import ANTHROPIC, OPENAI, Section
from context.assembly.retrieval import SOURCES
from context.assembly.retrieval_request import MAX_QUERY_LENGTH
from context.assembly.stage_data import AssemblyRequest
from context.assembly.tool_profiles import GROUPS, PROFILES
from context.models.settings import MAX_LENGTH
from kmapp.accounts.authentication import AgentRequest
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import IdField, Typed
from kmapp.search.variants import Variant
from rules.api.request_serializers import check_context_size

DEFAULT_WINDOW = 128_000
DEFAULT_RESERVE = 4_096
MAX_TOKENS = 10_000_000
MAX_TOOLS = 500
# The scope that a key needs to query a source.
READ_SCOPES = {
    "memory": Scope.MEMORY_READ,
    "knowledge": Scope.KNOWLEDGE_READ,
    "lore": Scope.KNOWLEDGE_READ,
    "rules": Scope.RULES_READ,
}


def check_policy(value: dict[str, Any]) -> None:
    """Validate changes of the assembly policy."""
    try:
        DEFAULT.with_changes(value)
    except InvalidPolicy as error:
        raise serializers.ValidationError({error.name: error.reason}) from error


class SectionInput(Typed):
    """A part of the prompt. Unstable sections go to the tail."""

    name = serializers.CharField(max_length=100)
    text = serializers.CharField(max_length=MAX_LENGTH, trim_whitespace=False)
    stable = serializers.BooleanField(default=True)


def _names_field(**kwargs: Any) -> serializers.ListField:
    return serializers.ListField(child=serializers.CharField(max_length=200), **kwargs)


class AssembleInput(MessagesInput):
    """A call to assemble: the conversation, tools and token limits."""

    app_id = IdField()
    scope = IdField()
    model = serializers.CharField(max_length=100, required=False, allow_blank=True)
    system = serializers.CharField(
        max_length=MAX_LENGTH,
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text="The system prompt, if it is not among the messages.",
    )
    sections = SectionInput(many=True, required=False)
    tools = serializers.ListField(
        child=serializers.DictField(), max_length=MAX_TOOLS, required=False
    )
    tool_groups = serializers.DictField(
        source="groups",
        child=serializers.ChoiceField(GROUPS),
        required=False,
        help_text="The group of each tool.",
    )
    required_tools = _names_field(max_length=MAX_TOOLS, required=False)
    tool_profile = serializers.ChoiceField(tuple(PROFILES), source="profile", default="full")
    provider = serializers.ChoiceField(
        (OPENAI, ANTHROPIC), required=False, help_text="By default the format of the messages."
    )
    context_window_tokens = serializers.IntegerField(
        source="window", min_value=1, max_value=MAX_TOKENS, default=DEFAULT_WINDOW
    )
    reserved_output_tokens = serializers.IntegerField(
        source="reserve", min_value=0, max_value=MAX_TOKENS, default=DEFAULT_RESERVE
    )
    query = serializers.CharField(
        max_length=MAX_QUERY_LENGTH,
        required=False,
        allow_blank=True,
        help_text="The retrieval query; by default the last user message, of which both ends are "
        "used if it is longer.",
    )
    sources = serializers.ListField(
        child=serializers.ChoiceField(tuple(SOURCES)), default=list(SOURCES)
    )
    limit = serializers.IntegerField(min_value=1, max_value=50, default=10)
    knowledge_sources = _names_field(max_length=100, required=False)
    lorebooks = _names_field(max_length=100, required=False)
    rules_context = serializers.DictField(required=False, validators=[check_context_size])
    policy = serializers.DictField(
        required=False,
        validators=[check_policy],
        help_text=f"Overrides for any of {', '.join(DEFAULT.body())}.",
    )
    language = LanguageField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Reject a reserve that leaves nothing of the context window."""
        if attrs["reserve"] >= attrs["window"]:
            raise serializers.ValidationError(
                {
                    "reserved_output_tokens": f"{attrs['reserve']:,} tokens leave nothing of the "
                    f"context window of {attrs['window']:,}. Send fewer."
                }
            )
        return attrs


def build_request(
    request: AgentRequest, params: Mapping[str, Any], variant: Variant | None
) -> AssemblyRequest:
    """Build the request of the assembler, without sources that the key may not read."""
    principal = request.auth
    names = {field.name for field in fields(AssemblyRequest)}
    values = {name: value for name, value in params.items() if name in names and value is not None}
    for name in ("required_tools", "knowledge_sources", "lorebooks"):
        values[name] = tuple(values.get(name, ()))
    refused = [name for name in SOURCES if not principal.may(READ_SCOPES[name])]
    values["sources"] = tuple(n for n in SOURCES if n in params["sources"] and n not in refused)
    values["refused_sources"] = tuple(n for n in dict.fromkeys(params["sources"]) if n in refused)
    return AssemblyRequest(
        **{**values, "sections": _build_sections(params)},
        account_id=principal.account_id,
        actor=principal.actor,
        within=build_scope(params),
        may_flush=principal.may(Scope.MEMORY_WRITE),
        variant=variant,
    )


def _build_sections(params: Mapping[str, Any]) -> Sequence[Section]:
    sections = [Section(**section) for section in params.get("sections", ())]
    if params.get("system"):
        sections.insert(0, Section(name="system", text=params["system"]))
    return sections
