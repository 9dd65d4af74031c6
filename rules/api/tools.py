"""API of evaluations, tool selection, decisions, runs and feedback."""

from collections import Counter
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.rules_in_answers import register
from kmapp.api.views import AgentView, parse
from kmapp.errors import Invalid, NotFound
from rules.actions.decisions import RecordedSelection, evaluate_rules, record_selection
from rules.actions.feedback import rate_decision, rate_rule
from rules.api.request_serializers import (
    DecisionInput,
    EvaluateInput,
    RuleVerdict,
    RunInput,
    SelectInput,
    ToolFeedbackInput,
    build_selection_request,
    build_verdict,
    parse_decision_id,
)
from rules.api.response_types import EvaluateAnswer
from rules.api.serialize import EvaluationSerializer
from rules.api.serialize_decisions import (
    serialize_decision,
    serialize_feedback,
    serialize_feedback_result,
    serialize_recorded_selection,
)
from rules.api.tool_response_types import (
    DecisionAnswer,
    FeedbackAnswer,
    RunAnswer,
    RunFeedback,
    SelectAnswer,
)
from rules.editing.rule_input import parse_scope
from rules.models import RuleDecision, RuleFeedback


class Evaluate(AgentView):
    """Evaluate the rules for a context. Nothing is recorded."""

    scopes = {"POST": Scope.RULES_READ}

    @extend_schema(request=EvaluateInput, responses={200: EvaluateAnswer})
    def post(self, request: Request) -> Response:
        return Response(evaluate(self.account, parse(EvaluateInput, request)))


def evaluate(account_id: UUID, data: Mapping[str, Any]) -> EvaluateAnswer:
    with acting(account_id):
        evaluation = evaluate_rules(
            account_id, build_selection_request(data), with_shadow=data["include_shadow"]
        )
    serializer = EvaluationSerializer(account_id, evaluation, data["limit"])
    return serializer.serialize_evaluation(include_shadow=data["include_shadow"])


@register
def evaluate_for_answer(account_id: UUID, data: Mapping[str, Any]) -> EvaluateAnswer:
    """Evaluate the rules for the answer of another app."""
    requested = {name: value for name, value in data.items() if value is not None}
    serializer = EvaluateInput(data=requested)
    serializer.is_valid(raise_exception=True)
    return evaluate(account_id, serializer.validated_data)


class Select(AgentView):
    """Select one of the candidate tools. Records the decision and the effect of shadow rules."""

    scopes = {"POST": Scope.RULES_READ}
    idempotent = True

    @extend_schema(request=SelectInput, responses={200: SelectAnswer})
    def post(self, request: Request) -> Response:
        data = parse(SelectInput, request)
        with acting(self.account):
            recorded = record_selection(
                self.account,
                self.actor,
                build_selection_request(data),
                run_id=data.get("run_id") or "",
            )
            refused = _build_refusal(recorded)
            if refused is None:
                return self.seal(Response(_serialize_result(recorded, data)))
        raise refused  # after the commit: the decision remains recorded


def _serialize_result(recorded: RecordedSelection, data: Mapping[str, Any]) -> Any:
    output = serialize_recorded_selection(
        recorded, include_shadow=data["include_shadow"], limit=data["rules_limit"]
    )
    if data["reorder_candidates"]:
        rest = [name for name in output["candidates"] if name not in recorded.selection.ordered]
        output["candidates"] = [*recorded.selection.ordered, *rest]
    return output


def _build_refusal(recorded: RecordedSelection) -> Invalid | None:
    policy = recorded.evaluation.policy
    if not recorded.evaluation.question.strict or recorded.selection.selected is not None:
        return None
    return Invalid(
        "The rules exclude all candidate tools.",
        code="no_tools_allowed",
        details={
            "candidates": list(recorded.selection.candidates),
            "allow": None if policy.allow is None else list(policy.allow),
            "deny": list(policy.deny),
            "decision_id": str(recorded.decision.pk),
        },
    )


class Decision(AgentView):
    """Return a decision by its ID or URI, or the latest decision of a run."""

    scopes = {"POST": Scope.RULES_READ}

    @extend_schema(request=DecisionInput, responses={200: DecisionAnswer})
    def post(self, request: Request) -> Response:
        data = parse(DecisionInput, request)
        decision_id, run = parse_decision_id(data), data.get("run_id")
        if not decision_id and not run:
            raise Invalid(
                "Send decision_id, decision_uri or run_id.",
                issues=[{"path": "decision_id", "message": "or run_id is required"}],
            )
        scope = parse_scope(data.get("scope"))
        with acting(self.account):
            rows = RuleDecision.objects.of(self.account).filter(scope=scope)
            rows = rows.filter(pk=decision_id) if decision_id else rows.filter(run_id=run)
            decision = rows.order_by("-created_at", "-pk").first()
            if decision is None:
                raise NotFound("Decision not found.", code="decision_not_found_in_scope")
            output = serialize_decision(decision, list(decision.observations.order_by("rule_id")))
        answer: DecisionAnswer = {
            "tenant_id": self.account,
            "scope": scope or "default",
            "lookup_mode": "decision_id" if decision_id else "run_id_latest",
            "decision": output,
        }
        return Response(answer)


class Run(AgentView):
    """Return the decisions of a run and their feedback."""

    scopes = {"POST": Scope.RULES_READ}

    @extend_schema(request=RunInput, responses={200: RunAnswer})
    def post(self, request: Request) -> Response:
        data = parse(RunInput, request)
        scope = parse_scope(data.get("scope"))
        with acting(self.account):
            rows = RuleDecision.objects.of(self.account).filter(scope=scope, run_id=data["run_id"])
            newest = list(rows.order_by("-created_at", "-pk")[: data["decision_limit"]])
            if not newest:
                raise NotFound("This run has no decisions.", code="run_not_found_in_scope")
            feedback = RuleFeedback.objects.of(self.account).filter(decision__in=rows)
            latest = feedback.order_by("-created_at", "-pk")
            last = latest.first()
            answer: RunAnswer = {
                "tenant_id": self.account,
                "scope": scope or "default",
                "run_id": data["run_id"],
                "lifecycle": {
                    "status": "feedback_linked" if last else "decision_recorded",
                    "decision_count": rows.count(),
                    "latest_decision_at": newest[0].created_at,
                    "latest_feedback_at": last.created_at if last else None,
                },
                "decisions": [serialize_decision(each) for each in newest],
            }
            if data["include_feedback"]:
                answer["feedback"] = _serialize_run_feedback(latest, data["feedback_limit"])
        return Response(answer)


def _serialize_run_feedback(rows: Any, limit: int) -> RunFeedback:
    outcomes = Counter(rows.values_list("outcome", flat=True))
    linked = rows.order_by().values("decision_id").distinct().count()
    return {
        "total": sum(outcomes.values()),
        "by_outcome": dict(outcomes),
        "linked_decision_count": linked,
        "tools_feedback_count": sum(outcomes.values()),
        "recent": [serialize_feedback(each) for each in rows[:limit]],
    }


class Feedback(AgentView):
    """Submit feedback on the use of a tool. Each decision and outcome counts once."""

    scopes = {"POST": Scope.RULES_WRITE}

    @extend_schema(request=ToolFeedbackInput, responses={200: FeedbackAnswer, 201: FeedbackAnswer})
    def post(self, request: Request) -> Response:
        data = parse(ToolFeedbackInput, request)
        verdict = build_verdict(self.account, self.actor, data)
        with acting(self.account):
            result = rate_decision(
                verdict,
                build_selection_request(data),
                data["selected_tool"],
                parse_decision_id(data),
            )
            output = serialize_feedback_result(result, parse_scope(data.get("scope")))
            return self.seal(Response(output, status=201 if result.fresh else 200))


class RuleFeedbackView(AgentView):
    """Submit feedback on a rule.

    With `run_id` or `input_text`, repeated feedback counts once per key, outcome and run or text.
    Without them, each request counts.
    """

    scopes = {"POST": Scope.RULES_WRITE}

    @extend_schema(request=RuleVerdict, responses={201: FeedbackAnswer, 200: FeedbackAnswer})
    def post(self, request: Request, pk: UUID) -> Response:
        data = parse(RuleVerdict, request)
        with acting(self.account):
            result = rate_rule(build_verdict(self.account, self.actor, data), pk)
            output = serialize_feedback_result(result, "")
            return self.seal(Response(output, status=201 if result.fresh else 200))
