"""API of the evaluation of rules, also for the answers of other apps."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.rule_evaluator import register_rule_evaluator
from kmapp.api.views import AgentView, parse
from rules.actions.decisions import evaluate_rules
from rules.api.request_serializers import EvaluateInput, build_selection_request
from rules.api.response_types import EvaluateAnswer
from rules.api.serialize_evaluations import EvaluationSerializer


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


@register_rule_evaluator
def evaluate_for_answer(account_id: UUID, data: Mapping[str, Any]) -> EvaluateAnswer:
    """Evaluate the rules for the answer of another app."""
    requested = {name: value for name, value in data.items() if value is not None}
    serializer = EvaluateInput(data=requested)
    serializer.is_valid(raise_exception=True)
    return evaluate(account_id, serializer.validated_data)
