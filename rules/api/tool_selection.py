"""API of the selection of a tool by the rules."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.views import AgentView, parse
from kmapp.errors import Invalid
from rules.actions.decisions import RecordedSelection, record_selection
from rules.api.decision_response_types import SelectAnswer
from rules.api.request_serializers import SelectInput, build_selection_request
from rules.api.serialize_decisions import serialize_recorded_selection


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
