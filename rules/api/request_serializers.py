"""Request serializers of rules."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from kmapp.api.serializers import MAX_ID_LENGTH, Aliases, IdField, Typed
from kmapp.errors import Invalid
from kmapp.ledger.canonical import canonical
from rules.editing.rule_input import NewRule, scope_of
from rules.models import Rule, RuleFeedback
from rules.models.rules import LEAST_PRIORITY, MOST_PRIORITY, MOST_WEIGHT

CANDIDATES = 200
RULE = ("name", "summary", "if", "then", "exceptions", "priority", "weight")
CHANGEABLE = (*RULE, "audience", "audience_id")
TEXT = 4_000
LARGEST_CONTEXT = 64_000  # bytes as JSON


class Scoped(Typed):
    """The part of the account that it is about."""

    scope = IdField()


class Looked(Typed):
    """Which version of a rule was looked at before it was decided about."""

    version = serializers.IntegerField(
        min_value=1, required=False, help_text="Do it only if the rule is still at this version."
    )


class RuleFields(Typed):
    """What a rule says. `if`, `then` and `exceptions` are described by /v1/rules/schemas."""

    name = serializers.CharField(max_length=MAX_ID_LENGTH)
    summary = serializers.CharField(max_length=TEXT, required=False, allow_blank=True)
    then = serializers.DictField(required=False)
    exceptions = serializers.ListField(child=serializers.DictField(), required=False)
    priority = serializers.IntegerField(
        min_value=LEAST_PRIORITY, max_value=MOST_PRIORITY, required=False
    )
    weight = serializers.FloatField(min_value=0, max_value=MOST_WEIGHT, required=False)
    audience = serializers.ChoiceField(choices=Rule.Audience.choices, required=False)
    audience_id = serializers.CharField(max_length=MAX_ID_LENGTH, required=False, allow_blank=True)
    reason = serializers.CharField(max_length=TEXT, required=False, allow_blank=True)

    def get_fields(self) -> dict[str, Any]:
        """`if` is a word of the language, so it is no attribute."""
        return {"if": serializers.DictField(required=False, source="when"), **super().get_fields()}


class RuleInput(RuleFields):
    """A rule to write; it starts as a draft."""

    scope = IdField()
    client_id = IdField(
        help_text="Your own ID. Repeating a write with the same ID and body changes nothing."
    )
    id = serializers.UUIDField(required=False)


class RuleChange(RuleFields, Looked):
    """What to change about a rule. Only what is given changes."""

    together = {"anyOf": [{"required": [name]} for name in CHANGEABLE]}

    name = serializers.CharField(max_length=MAX_ID_LENGTH, required=False)


def rule_from(data: Mapping[str, Any]) -> NewRule:
    values = {name: value for name, value in data.items() if value is not None and name != "reason"}
    checked_audience(values.get("audience", "account"), values.get("audience_id", ""))
    return NewRule(**{**values, "scope": scope_of(values.get("scope"))})


def checked_audience(audience: str, audience_id: str) -> None:
    """Require an id exactly for the audiences user, agent and app."""
    if (audience == Rule.Audience.ACCOUNT) == bool(audience_id):
        message = (
            "is needed" if not audience_id else "is only valid for a single user, agent or app"
        )
        raise Invalid(
            f"audience_id {message}.", issues=[{"path": "audience_id", "message": message}]
        )


class RuleSlots(Typed):
    """The metadata of a rule among the nodes of a batch."""

    then = serializers.DictField(required=False)
    exceptions = serializers.ListField(child=serializers.DictField(), required=False)
    priority = serializers.IntegerField(
        min_value=LEAST_PRIORITY, max_value=MOST_PRIORITY, required=False
    )
    weight = serializers.FloatField(min_value=0, max_value=MOST_WEIGHT, required=False)

    def get_fields(self) -> dict[str, Any]:
        """`if` is a word of the language, so it is no attribute."""
        return {"if": serializers.DictField(required=False, source="when"), **super().get_fields()}


class RuleNode(Aliases):
    """A rule among the nodes of a batch. Fields of memories that a rule has not are let pass."""

    text = serializers.CharField(max_length=TEXT, required=False, allow_blank=True)
    title = serializers.CharField(
        max_length=MAX_ID_LENGTH, required=False, allow_blank=True, allow_null=True
    )
    metadata = RuleSlots()
    id = serializers.UUIDField(required=False, allow_null=True)
    client_id = IdField()
    scope = IdField()
    user_id = IdField()
    agent_id = IdField()
    app_id = IdField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require a name."""
        if not attrs.get("title") and not attrs.get("text"):
            raise serializers.ValidationError({"title": "Name the rule: title or text_summary."})
        return attrs


def rule_of_node(data: Mapping[str, Any]) -> NewRule:
    named = [(kind, data.get(f"{kind}_id")) for kind in ("user", "agent", "app")]
    audience, audience_id = next(((kind, one) for kind, one in named if one), ("account", ""))
    text = data.get("text") or ""
    return NewRule(
        name=data.get("title") or text[:MAX_ID_LENGTH],
        summary=text,
        id=data.get("id"),
        client_id=data.get("client_id") or "",
        scope=data.get("scope") or "",
        audience=audience,
        audience_id=audience_id or "",
        **data["metadata"],
    )


class Asked(Scoped):
    """A context, and whose it is. Ids may also stand in the context."""

    context = serializers.DictField()  # type: ignore[assignment]  # a field here
    user_id = IdField()
    agent_id = IdField()
    app_id = IdField()

    def validate_context(self, value: dict[str, Any]) -> dict[str, Any]:
        if len(canonical(value)) > LARGEST_CONTEXT:
            raise serializers.ValidationError(f"Send at most {LARGEST_CONTEXT} bytes of context.")
        return value


class EvaluateInput(Asked):
    """What to ask the rules."""

    include_shadow = serializers.BooleanField(default=True)
    limit = serializers.IntegerField(
        min_value=1,
        max_value=200,
        default=50,
        help_text="Limits the rules in the response; all matching rules apply.",
    )


class Candidates(Asked):
    """A context and the tools at hand."""

    candidates = serializers.ListField(
        child=serializers.CharField(max_length=MAX_ID_LENGTH), min_length=1, max_length=CANDIDATES
    )
    include_shadow = serializers.BooleanField(default=False)
    rules_limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    run_id = IdField()


class SelectInput(Candidates):
    """Which tool to use."""

    strict = serializers.BooleanField(
        default=True, help_text="Refuse where no tool is left, instead of dropping allow-lists."
    )
    reorder_candidates = serializers.BooleanField(default=False)


class ToolFeedbackInput(Candidates):
    """How the use of a tool went."""

    outcome = serializers.ChoiceField(choices=RuleFeedback.Outcome.choices)
    selected_tool = serializers.CharField(max_length=MAX_ID_LENGTH)
    decision_id = serializers.UUIDField(required=False, allow_null=True)
    decision_uri = IdField()
    target = serializers.ChoiceField(choices=[("tool", "tool"), ("all", "all")], default="tool")
    note = serializers.CharField(max_length=TEXT, required=False, allow_blank=True)
    input_text = serializers.CharField(max_length=TEXT, required=False, allow_blank=True)
    input_sha256 = serializers.RegexField(r"^[0-9a-f]{64}$", required=False, allow_null=True)


class StateInput(Looked, Scoped):
    """Where a rule is to go, and why."""

    rule_node_id = serializers.UUIDField()
    state = serializers.ChoiceField(choices=Rule.State.choices)
    input_text = serializers.CharField(
        max_length=TEXT,
        required=False,
        allow_blank=True,
        help_text="The reason. With the scope rules:override it passes the gate of evidence.",
    )
    input_sha256 = serializers.RegexField(r"^[0-9a-f]{64}$", required=False, allow_null=True)


class Undoing(Looked):
    """Why a rule is taken back or disabled."""

    reason = serializers.CharField(max_length=TEXT, required=False, allow_blank=True)


class RuleVerdict(Typed):
    """What somebody says of a rule as such."""

    outcome = serializers.ChoiceField(choices=RuleFeedback.Outcome.choices)
    note = serializers.CharField(max_length=TEXT, required=False, allow_blank=True)
    run_id = IdField(help_text="The run it was used in: each run counts once for each outcome.")
    input_text = serializers.CharField(max_length=TEXT, required=False, allow_blank=True)
    input_sha256 = serializers.RegexField(r"^[0-9a-f]{64}$", required=False, allow_null=True)


class NamedRuleVerdict(RuleVerdict, Scoped):
    """The same, of a rule that is named in it."""

    rule_node_id = serializers.UUIDField()


class DecisionInput(Scoped):
    """Which decision to look up."""

    decision_id = serializers.UUIDField(required=False, allow_null=True)
    decision_uri = IdField()
    run_id = IdField()


class RunInput(Scoped):
    """Which run to tell of."""

    run_id = serializers.CharField(max_length=MAX_ID_LENGTH)
    decision_limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    include_feedback = serializers.BooleanField(default=True)
    feedback_limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
