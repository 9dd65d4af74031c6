"""API of feedback on the use of tools, and on rules."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.views import AgentView, parse
from rules.actions.feedback import rate_decision, rate_rule
from rules.api.decision_response_types import FeedbackAnswer
from rules.api.request_serializers import (
    RuleVerdict,
    ToolFeedbackInput,
    build_selection_request,
    build_verdict,
    parse_decision_id,
)
from rules.api.serialize_decisions import serialize_feedback_result
from rules.editing.rule_input import parse_scope


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
