"""Endpoints for evaluation, tool selection, decisions, runs and feedback."""

from collections import Counter
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.views import AgentView, parse
from kmapp.errors import Invalid, NotFound
from rules.actions.decisions import Decided, decide, evaluate_rules
from rules.actions.feedback import rate_decision, rate_rule
from rules.api.request_serializers import (
    DecisionInput,
    EvaluateInput,
    RuleVerdict,
    RunInput,
    SelectInput,
    ToolFeedbackInput,
)
from rules.api.requests import decision_id_of, question_of, verdict_of
from rules.api.response_types import EvaluateAnswer
from rules.api.serialize import Shower
from rules.api.serialize_tools import (
    counted_output,
    decision_output,
    feedback_output,
    select_output,
)
from rules.api.tool_response_types import (
    DecisionAnswer,
    FeedbackAnswer,
    RunAnswer,
    RunFeedback,
    SelectAnswer,
)
from rules.editing.rule_input import scope_of
from rules.models import RuleDecision, RuleFeedback


class Evaluate(AgentView):
    """What the rules say of a context. Nothing is recorded."""

    scopes = {"POST": Scope.RULES_READ}
    bucket = "recall"

    @extend_schema(request=EvaluateInput, responses={200: EvaluateAnswer})
    def post(self, request: Request) -> Response:
        data = parse(EvaluateInput, request)
        with acting(self.account):
            answer = evaluate_rules(self.account, question_of(data))
        shower = Shower(self.account, answer, data["limit"])
        return Response(shower.evaluation(include_shadow=data["include_shadow"]))


class Select(AgentView):
    """Which of these tools to use. The decision is recorded, with what watching rules say."""

    scopes = {"POST": Scope.RULES_READ}
    bucket = "recall"
    idempotent = True

    @extend_schema(request=SelectInput, responses={200: SelectAnswer})
    def post(self, request: Request) -> Response:
        data = parse(SelectInput, request)
        with acting(self.account):
            decided = decide(
                self.account, self.actor, question_of(data), run_id=data.get("run_id") or ""
            )
            refused = _nothing_allowed(decided)
            if refused is None:
                return self.seal(Response(_selected(decided, data)))
        raise refused  # the decision stays on record


def _selected(decided: Decided, data: Mapping[str, Any]) -> Any:
    output = select_output(
        decided, include_shadow=data["include_shadow"], limit=data["rules_limit"]
    )
    if data["reorder_candidates"]:
        rest = [name for name in output["candidates"] if name not in decided.selection.ordered]
        output["candidates"] = [*decided.selection.ordered, *rest]
    return output


def _nothing_allowed(decided: Decided) -> Invalid | None:
    policy = decided.answer.policy
    if not decided.answer.question.strict or decided.selection.selected is not None:
        return None
    return Invalid(
        "The rules leave none of these tools.",
        code="no_tools_allowed",
        details={
            "candidates": list(decided.selection.candidates),
            "allow": None if policy.allow is None else list(policy.allow),
            "deny": list(policy.deny),
            "decision_id": str(decided.decision.pk),
        },
    )


class Decision(AgentView):
    """One decision: by its id or address, or the latest of a run."""

    scopes = {"POST": Scope.RULES_READ}
    bucket = "recall"

    @extend_schema(request=DecisionInput, responses={200: DecisionAnswer})
    def post(self, request: Request) -> Response:
        data = parse(DecisionInput, request)
        named, run = decision_id_of(data), data.get("run_id")
        if not named and not run:
            raise Invalid(
                "Name a decision or a run.",
                issues=[{"path": "decision_id", "message": "or run_id is required"}],
            )
        scope = scope_of(data.get("scope"))
        with acting(self.account):
            rows = RuleDecision.objects.of(self.account).filter(scope=scope)
            rows = rows.filter(pk=named) if named else rows.filter(run_id=run)
            decision = rows.order_by("-created_at", "-pk").first()
            if decision is None:
                raise NotFound("Decision not found.", code="decision_not_found_in_scope")
            output = decision_output(decision, list(decision.observations.order_by("rule_id")))
        answer: DecisionAnswer = {
            "tenant_id": self.account,
            "scope": scope or "default",
            "lookup_mode": "decision_id" if named else "run_id_latest",
            "decision": output,
        }
        return Response(answer)


class Run(AgentView):
    """What was decided in a run, and how it went."""

    scopes = {"POST": Scope.RULES_READ}
    bucket = "recall"

    @extend_schema(request=RunInput, responses={200: RunAnswer})
    def post(self, request: Request) -> Response:
        data = parse(RunInput, request)
        scope = scope_of(data.get("scope"))
        with acting(self.account):
            rows = RuleDecision.objects.of(self.account).filter(scope=scope, run_id=data["run_id"])
            newest = list(rows.order_by("-created_at", "-pk")[: data["decision_limit"]])
            if not newest:
                raise NotFound("Nothing was decided in this run.", code="run_not_found_in_scope")
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
                "decisions": [decision_output(each) for each in newest],
            }
            if data["include_feedback"]:
                answer["feedback"] = _run_feedback(latest, data["feedback_limit"])
        return Response(answer)


def _run_feedback(rows: Any, limit: int) -> RunFeedback:
    outcomes = Counter(rows.values_list("outcome", flat=True))
    linked = rows.order_by().values("decision_id").distinct().count()
    return {
        "total": sum(outcomes.values()),
        "by_outcome": dict(outcomes),
        "linked_decision_count": linked,
        "tools_feedback_count": sum(outcomes.values()),
        "recent": [feedback_output(each) for each in rows[:limit]],
    }


class Feedback(AgentView):
    """How the use of a tool went. Counted once per decision and outcome."""

    scopes = {"POST": Scope.RULES_WRITE}
    idempotent = True

    @extend_schema(request=ToolFeedbackInput, responses={200: FeedbackAnswer, 201: FeedbackAnswer})
    def post(self, request: Request) -> Response:
        data = parse(ToolFeedbackInput, request)
        verdict = verdict_of(self.account, self.actor, data)
        with acting(self.account):
            counted = rate_decision(
                verdict, question_of(data), data["selected_tool"], decision_id_of(data)
            )
            output = counted_output(counted, scope_of(data.get("scope")))
            return self.seal(Response(output, status=201 if counted.fresh else 200))


class RuleFeedbackView(AgentView):
    """What somebody says of a rule as such.

    With `run_id` or `input_text` it counts once for each key, outcome and occasion, however often
    it is sent. Without them each call counts.
    """

    scopes = {"POST": Scope.RULES_WRITE}
    idempotent = True

    @extend_schema(request=RuleVerdict, responses={201: FeedbackAnswer, 200: FeedbackAnswer})
    def post(self, request: Request, pk: UUID) -> Response:
        data = parse(RuleVerdict, request)
        with acting(self.account):
            counted = rate_rule(verdict_of(self.account, self.actor, data), pk)
            output = counted_output(counted, "")
            return self.seal(Response(output, status=201 if counted.fresh else 200))
