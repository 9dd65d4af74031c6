"""API of policy comparisons over many recorded calls."""

from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from context.actions.comparisons import (
    MAX_CALLS,
    ComparisonRequest,
    ComparisonTotals,
    get_comparison,
    start_comparison,
    summarise_comparison,
)
from context.actions.replays import Changes
from context.api.replays import ReplayInput, check_variant_scopes
from context.api.request_serializers import PagesInput
from context.api.response_types import CallDifference
from context.models import ContextComparison, ContextDifference
from context.models.comparisons import KINDS
from context.reports.token_change_distribution import Bucket, Distribution
from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import IdField, Typed
from kmapp.api.typed_dict_schemas import COMPONENT_NAMES, ParsedAnswer, serialize_as
from kmapp.api.views import AgentView, parse

COMPONENT_NAMES.update(
    {Bucket: "Share", Distribution: "Spread", ComparisonTotals: "ComparisonSummary"}
)


class ComparisonBrief(ParsedAnswer):
    """One comparison with its progress; `gone` counts calls whose inputs have expired."""

    id: UUID
    status: str
    left: dict[str, Any]
    right: dict[str, Any]
    agent_id: str | None
    model: str | None
    total: int
    done: int
    gone: int
    created_at: datetime
    finished_at: datetime | None


class Comparison(ComparisonBrief):
    """One comparison with its totals."""

    summary: ComparisonTotals


class ComparisonPage(ParsedAnswer):
    """Comparisons, newest first; `next` is an offset."""

    results: list[ComparisonBrief]
    next: int | None


class DifferencePage(ParsedAnswer):
    """Calls of a comparison, the largest change first; `next` is an offset."""

    results: list[CallDifference]
    next: int | None


class ComparisonInput(Typed):
    """The calls to compare and the changes of each side. Empty changes replay the recorded call."""

    left = ReplayInput(required=False)
    right = ReplayInput()
    calls = serializers.IntegerField(min_value=1, max_value=MAX_CALLS, default=1_000)
    agent_id = IdField()
    model = serializers.CharField(max_length=100, required=False, allow_blank=True)


class DifferencesInput(PagesInput):
    """A filter of the calls of a comparison."""

    show = serializers.ChoiceField(["all", *KINDS], default="changed")


class Comparisons(AgentView):
    """Compare two policies over the last calls, from their stored inputs. Runs in a worker."""

    scopes = {"GET": Scope.CONTEXT_READ, "POST": Scope.CONTEXT_WRITE}

    @extend_schema(parameters=[PagesInput], responses={200: ComparisonPage})
    def get(self, request: Request) -> Response:
        params = parse(PagesInput, request)
        offset, limit = params["offset"], params["limit"]
        with acting(self.account):
            rows = ContextComparison.objects.of(self.account).order_by("-created_at", "-pk")
            page = [_serialize_comparison(row) for row in rows[offset : offset + limit + 1]]
        following = offset + limit if len(page) > limit else None
        return Response({"results": page[:limit], "next": following})

    @extend_schema(request=ComparisonInput, responses={202: ComparisonBrief})
    def post(self, request: Request) -> Response:
        params = parse(ComparisonInput, request)
        comparison_request = ComparisonRequest(
            left=Changes(**params.get("left", {"policy": {}})),
            right=Changes(**params["right"]),
            calls=params["calls"],
            agent_id=params.get("agent_id") or "",
            model=params.get("model") or "",
        )
        check_variant_scopes(self.request.auth, comparison_request.left, comparison_request.right)
        with acting(self.account):
            comparison = start_comparison(self.account, self.actor, comparison_request)
            return self.seal(Response(_serialize_comparison(comparison), status=202))


class OneComparison(AgentView):
    """Return the progress and the totals of a comparison."""

    scopes = {"GET": Scope.CONTEXT_READ}

    @extend_schema(responses={200: Comparison})
    def get(self, request: Request, pk: UUID) -> Response:
        with acting(self.account):
            comparison = get_comparison(self.account, pk)
            totals = summarise_comparison(comparison)
            brief = _serialize_comparison(comparison)
        return Response({**brief, "summary": asdict(totals)})


class Differences(AgentView):
    """List the differences of a comparison, call by call."""

    scopes = {"GET": Scope.CONTEXT_READ}

    @extend_schema(parameters=[DifferencesInput], responses={200: DifferencePage})
    def get(self, request: Request, pk: UUID) -> Response:
        params = parse(DifferencesInput, request)
        offset, limit = params["offset"], params["limit"]
        with acting(self.account):
            comparison = get_comparison(self.account, pk)
            rows = ContextDifference.objects.of(self.account).of_kind(comparison, params["show"])
            page = list(rows[offset : offset + limit + 1])
        results = [{"report_id": row.report_id, **row.differences} for row in page[:limit]]
        return Response({"results": results, "next": offset + limit if len(page) > limit else None})


def _serialize_comparison(comparison: ContextComparison) -> ComparisonBrief:
    total = comparison.total or comparison.wanted
    return serialize_as(ComparisonBrief, comparison, total=total)
