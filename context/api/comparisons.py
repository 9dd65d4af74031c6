"""API of policy comparisons over recorded calls."""

from dataclasses import asdict
from datetime import datetime
from typing import Any, TypedDict, cast
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
from context.api.replays import ReplayInput, build_changes, check_variant_scopes
from context.api.report_response_types import CallDifference
from context.models import ContextComparison, ContextDifference
from context.models.comparisons import KINDS
from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import IdField, Typed
from kmapp.api.views import AgentView, parse


class Share(TypedDict):
    """Calls whose tokens changed by at least `least` and by less than `most` percent."""

    least: float | None
    most: float | None
    calls: int


class Spread(TypedDict):
    """Tokens of the calls that fit both sides, and the change per call in percent."""

    calls: int
    before: int
    after: int
    percent: float
    tenth: float
    median: float
    ninetieth: float
    buckets: list[Share]


class ComparisonSummary(TypedDict):
    """Totals so far, in calls; `evidence_lost` and `dropped` count texts and messages."""

    distribution: Spread
    changed: int
    losing_evidence: int
    evidence_lost: int
    no_longer_fitting: int
    newly_fitting: int
    larger: int
    dropped_before: int
    dropped_after: int
    cost_before: float | None
    cost_after: float | None


class ComparisonBrief(TypedDict):
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

    summary: ComparisonSummary


class ComparisonPage(TypedDict):
    """Comparisons, newest first; `next` is an offset."""

    results: list[ComparisonBrief]
    next: int | None


class DifferencePage(TypedDict):
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


class PagesInput(Typed):
    """A page of a list."""

    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    offset = serializers.IntegerField(min_value=0, max_value=1_000_000, default=0)


class DifferencesInput(PagesInput):
    """A filter of the calls of a comparison."""

    show = serializers.ChoiceField(["all", *KINDS], default="changed")


class Comparisons(AgentView):
    """Compare two policies over the last calls, from their stored inputs. Runs in a worker."""

    scopes = {"GET": Scope.CONTEXT_READ, "POST": Scope.CONTEXT_WRITE}
    idempotent = True

    @extend_schema(parameters=[PagesInput], responses={200: ComparisonPage})
    def get(self, request: Request) -> Response:
        params = parse(PagesInput, request)
        offset, limit = params["offset"], params["limit"]
        with acting(self.account):
            rows = ContextComparison.objects.of(self.account).order_by("-created_at", "-pk")
            page = [serialize_comparison(row) for row in rows[offset : offset + limit + 1]]
        following = offset + limit if len(page) > limit else None
        return Response({"results": page[:limit], "next": following})

    @extend_schema(request=ComparisonInput, responses={202: ComparisonBrief})
    def post(self, request: Request) -> Response:
        params = parse(ComparisonInput, request)
        comparison_request = ComparisonRequest(
            left=build_changes(params["left"]) if "left" in params else Changes(policy={}),
            right=build_changes(params["right"]),
            calls=params["calls"],
            agent_id=params.get("agent_id") or "",
            model=params.get("model") or "",
        )
        check_variant_scopes(self.request.auth, comparison_request.left, comparison_request.right)
        with acting(self.account):
            comparison = start_comparison(self.account, self.actor, comparison_request)
            return self.seal(Response(serialize_comparison(comparison), status=202))


class OneComparison(AgentView):
    """Return the progress and the totals of a comparison."""

    scopes = {"GET": Scope.CONTEXT_READ}
    bucket = "recall"

    @extend_schema(responses={200: Comparison})
    def get(self, request: Request, pk: UUID) -> Response:
        with acting(self.account):
            comparison = get_comparison(self.account, pk)
            return Response(
                {
                    **serialize_comparison(comparison),
                    "summary": _serialize_totals(summarise_comparison(comparison)),
                }
            )


class Differences(AgentView):
    """List the differences of a comparison, call by call."""

    scopes = {"GET": Scope.CONTEXT_READ}
    bucket = "recall"

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


def serialize_comparison(comparison: ContextComparison) -> ComparisonBrief:
    names = ("status", "left", "right", "done", "gone", "created_at", "finished_at")
    brief = {
        "id": comparison.pk,
        **{name: getattr(comparison, name) for name in names},
        "agent_id": comparison.agent_id or None,
        "model": comparison.model or None,
        "total": comparison.total or comparison.wanted,
    }
    return cast("ComparisonBrief", brief)


def _serialize_totals(comparison: ComparisonTotals) -> dict[str, Any]:
    distribution = comparison.distribution
    return {
        **asdict(comparison),
        "distribution": {**asdict(distribution), "percent": distribution.percent},
    }
