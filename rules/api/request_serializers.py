"""Request serializers of rules, and the inputs built from validated requests."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from rest_framework import serializers

from kmapp.accounts.actors import Actor
from kmapp.api.serializers import MAX_ID_LENGTH, Aliases, IdField, Typed
from kmapp.errors import Invalid
from kmapp.ledger.canonical import encode_canonical
from rules.actions.feedback import ReportedOutcome
from rules.editing.rule_input import NewRule, parse_scope
from rules.evaluation.matching import RuleViewer
from rules.evaluation.tool_selection import SelectionRequest
from rules.models import Rule, RuleFeedback
from rules.models.rules import MAX_PRIORITY, MAX_WEIGHT, MIN_PRIORITY

MAX_CANDIDATES = 200
RULE_FIELDS = ("name", "summary", "if", "then", "exceptions", "priority", "weight")
CHANGEABLE = (*RULE_FIELDS, "audience", "audience_id")
MAX_TEXT_LENGTH = 4_000
MAX_CONTEXT = 64_000  # bytes as JSON


class Scoped(Typed):
    """The scope of a request: a part of the account."""

    scope = IdField()


class VersionCheck(Typed):
    """The expected version of a rule."""

    version = serializers.IntegerField(
        min_value=1, required=False, help_text="Returns 409 unless this is the current version."
    )


class RuleSlots(Typed):
    """The conditions and effects of a rule, as in the metadata of a batch node."""

    then = serializers.DictField(required=False)
    exceptions = serializers.ListField(child=serializers.DictField(), required=False)
    priority = serializers.IntegerField(
        min_value=MIN_PRIORITY, max_value=MAX_PRIORITY, required=False
    )
    weight = serializers.FloatField(min_value=0, max_value=MAX_WEIGHT, required=False)

    def get_fields(self) -> dict[str, Any]:
        """Add `if`, which cannot be an attribute in Python."""
        return {"if": serializers.DictField(required=False, source="when"), **super().get_fields()}


class RuleFields(RuleSlots):
    """The fields of a rule. /v1/rules/schemas describes `if`, `then` and `exceptions`."""

    name = serializers.CharField(max_length=MAX_ID_LENGTH)
    summary = serializers.CharField(max_length=MAX_TEXT_LENGTH, required=False, allow_blank=True)
    audience = serializers.ChoiceField(choices=Rule.Audience.choices, required=False)
    audience_id = serializers.CharField(max_length=MAX_ID_LENGTH, required=False, allow_blank=True)
    reason = serializers.CharField(max_length=MAX_TEXT_LENGTH, required=False, allow_blank=True)


class RuleInput(RuleFields):
    """A rule to create as a draft."""

    scope = IdField()
    client_id = IdField(
        help_text="Your own ID. Repeating a write with the same ID and body changes nothing."
    )
    id = serializers.UUIDField(required=False)


class RuleChange(RuleFields, VersionCheck):
    """The fields of a rule to change. Omitted fields do not change."""

    together = {"anyOf": [{"required": [name]} for name in CHANGEABLE]}

    name = serializers.CharField(max_length=MAX_ID_LENGTH, required=False)


def build_rule(data: Mapping[str, Any]) -> NewRule:
    values = {name: value for name, value in data.items() if value is not None and name != "reason"}
    check_audience(values.get("audience", "account"), values.get("audience_id", ""))
    return NewRule(**{**values, "scope": parse_scope(values.get("scope"))})


def check_audience(audience: str, audience_id: str) -> None:
    """Raise Invalid unless the audience has an ID, or is the account and has none."""
    if (audience == Rule.Audience.ACCOUNT) == bool(audience_id):
        message = "is only valid for a single user, agent or app" if audience_id else "is needed"
        raise Invalid(
            f"audience_id {message}.", issues=[{"path": "audience_id", "message": message}]
        )


class RuleNode(Aliases):
    """A rule among the nodes of a batch. Fields that only memories have are ignored."""

    text = serializers.CharField(max_length=MAX_TEXT_LENGTH, required=False, allow_blank=True)
    title = IdField()
    metadata = RuleSlots()
    id = serializers.UUIDField(required=False, allow_null=True)
    client_id = IdField()
    scope = IdField()
    user_id = IdField()
    agent_id = IdField()
    app_id = IdField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require a title or a text."""
        if not attrs.get("title") and not attrs.get("text"):
            raise serializers.ValidationError({"title": "Name the rule: title or text_summary."})
        return attrs


def build_node_rule(data: Mapping[str, Any]) -> NewRule:
    ids = [(kind, data.get(f"{kind}_id")) for kind in ("user", "agent", "app")]
    audience, audience_id = next(((kind, pk) for kind, pk in ids if pk), ("account", ""))
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


def check_context_size(value: Mapping[str, Any]) -> None:
    """Refuse a large context, because every rule is matched against it."""
    if len(encode_canonical(value)) > MAX_CONTEXT:
        raise serializers.ValidationError(f"Send at most {MAX_CONTEXT} bytes of context.")


class ContextInput(Scoped):
    """A context and its user, agent and app, whose IDs may also be in the context."""

    context = serializers.DictField(  # type: ignore[assignment]  # a field here
        validators=[check_context_size]
    )
    user_id = IdField()
    agent_id = IdField()
    app_id = IdField()


class EvaluateInput(ContextInput):
    """A context to evaluate the rules for."""

    include_shadow = serializers.BooleanField(default=True)
    limit = serializers.IntegerField(
        min_value=1,
        max_value=200,
        default=50,
        help_text="Limits the rules in the response; all matching rules apply.",
    )


class CandidatesInput(ContextInput):
    """A context and the available tools."""

    candidates = serializers.ListField(
        child=serializers.CharField(max_length=MAX_ID_LENGTH),
        min_length=1,
        max_length=MAX_CANDIDATES,
    )
    include_shadow = serializers.BooleanField(default=False)
    rules_limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    run_id = IdField()


class SelectInput(CandidatesInput):
    """A selection of a tool."""

    strict = serializers.BooleanField(
        default=True,
        help_text="Return 400 if the rules exclude all tools, instead of ignoring allow-lists.",
    )
    reorder_candidates = serializers.BooleanField(default=False)


class InputReference(Typed):
    """The text behind a request, or its digest."""

    input_text = serializers.CharField(max_length=MAX_TEXT_LENGTH, required=False, allow_blank=True)
    input_sha256 = serializers.RegexField(r"^[0-9a-f]{64}$", required=False, allow_null=True)


class StateInput(InputReference, VersionCheck, Scoped):
    """The new state of a rule, with the reason."""

    rule_node_id = serializers.UUIDField()
    state = serializers.ChoiceField(choices=Rule.State.choices)


class Undoing(VersionCheck):
    """The reason for disabling a rule or reverting its promotion."""

    reason = serializers.CharField(max_length=MAX_TEXT_LENGTH, required=False, allow_blank=True)


class RuleVerdict(InputReference):
    """Feedback on a rule."""

    outcome = serializers.ChoiceField(choices=RuleFeedback.Outcome.choices)
    note = serializers.CharField(max_length=MAX_TEXT_LENGTH, required=False, allow_blank=True)
    run_id = IdField(help_text="The run that used the rule. Each run and outcome counts once.")


class NamedRuleVerdict(RuleVerdict, Scoped):
    """Feedback on a rule in a batch."""

    rule_node_id = serializers.UUIDField()


class DecisionReference(Scoped):
    """A decision by its ID or its URI."""

    decision_id = serializers.UUIDField(required=False, allow_null=True)
    decision_uri = IdField()


class ToolFeedbackInput(CandidatesInput, RuleVerdict, DecisionReference):
    """Feedback on the use of a tool."""

    selected_tool = serializers.CharField(max_length=MAX_ID_LENGTH)
    target = serializers.ChoiceField(
        choices=[("tool", "tool"), ("all", "all")],
        default="tool",
        help_text="Count the matching rules that name the tool, or all matching rules.",
    )


class DecisionInput(DecisionReference):
    """The decision to return, by its ID, its URI or its run."""

    run_id = IdField()


class RunInput(Scoped):
    """The run to return, and how many of its decisions and feedback."""

    run_id = serializers.CharField(max_length=MAX_ID_LENGTH)
    decision_limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    include_feedback = serializers.BooleanField(default=True)
    feedback_limit = serializers.IntegerField(min_value=1, max_value=200, default=50)


def build_selection_request(data: Mapping[str, Any]) -> SelectionRequest:
    context, kinds = data["context"], ("user", "agent", "app")
    ids = {f"{kind}_id": data.get(f"{kind}_id") or _get_id(context, kind) for kind in kinds}
    return SelectionRequest(
        context=context,
        viewer=RuleViewer(**ids, scope=parse_scope(data.get("scope"))),
        candidates=tuple(data.get("candidates", ())),
        strict=data.get("strict", True),
    )


def _get_id(context: Mapping[str, Any], kind: str) -> str:
    """Return an ID from the context, for example agent_id or agent.id, or an empty string."""
    inner = context.get(kind)
    pk = context.get(f"{kind}_id") or (inner.get("id") if isinstance(inner, dict) else None)
    return pk if isinstance(pk, str) and len(pk) <= MAX_ID_LENGTH else ""


def parse_decision_id(data: Mapping[str, Any]) -> UUID | None:
    """Return the decision ID of a request, or the one at the end of its URI."""
    decision_id: UUID | None = data.get("decision_id")
    uri = data.get("decision_uri")
    if decision_id or not uri:
        return decision_id
    try:
        return UUID(str(uri).rpartition("/")[2])
    except ValueError as error:
        raise Invalid(
            "decision_uri must end with the ID of a decision.",
            issues=[{"path": "decision_uri", "message": "must end with an ID"}],
        ) from error


def build_verdict(account_id: UUID, actor: Actor, data: Mapping[str, Any]) -> ReportedOutcome:
    return ReportedOutcome(
        account_id=account_id,
        actor=actor,
        outcome=data["outcome"],
        note=data.get("note", ""),
        input=data.get("input_text") or data.get("input_sha256") or "",
        run_id=data.get("run_id") or "",
        target=data.get("target", "rule"),
        include_shadow=data.get("include_shadow", False),
    )
