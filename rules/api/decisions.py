"""API of recorded decisions: one decision, and all of a run with their feedback."""

from collections import Counter
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.views import AgentView, parse
from kmapp.errors import Invalid, NotFound
from rules.api.decision_response_types import DecisionAnswer, RunAnswer, RunFeedback
from rules.api.request_serializers import DecisionInput, RunInput, parse_decision_id
from rules.api.serialize_decisions import serialize_decision, serialize_feedback
from rules.editing.rule_input import parse_scope
from rules.models import RuleDecision, RuleFeedback


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
