"""Two policies compared over the last calls: asked for, followed, read call by call."""

from dataclasses import asdict
from datetime import datetime
from typing import Any, TypedDict
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from context.actions.comparisons import MOST, Summary, Wished, found, start, summary
from context.actions.replays import Changes
from context.api.replays import ReplayInput, changes_of, check_may_vary
from context.api.report_response_types import CallDifference
from context.api.request_serializers import IdField
from context.models import ContextComparison, ContextDifference
from context.models.comparisons import KINDS
from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import Typed
from kmapp.api.views import AgentView, parse


class Share(TypedDict):
    """Calls whose tokens changed by at least `least` and by less than `most` percent."""

    least: float | None
    most: float | None
    calls: int


class Spread(TypedDict):
    """Tokens of the calls that fit both sides, and the change in percent call by call."""

    calls: int
    before: int
    after: int
    percent: float
    tenth: float
    median: float
    ninetieth: float
    buckets: list[Share]


class ComparisonSummary(TypedDict):
    """What came out so far, in calls; `evidence_lost` and `dropped` count texts and messages."""

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
    """One comparison, and how far it is; `gone` are calls whose inputs are kept no longer."""

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
    """One comparison with what came out."""

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
    """Which calls, and what is to be different on either side. Empty: as they were recorded."""

    left = ReplayInput(required=False)
    right = ReplayInput()
    calls = serializers.IntegerField(min_value=1, max_value=MOST, default=1_000)
    agent_id = IdField()
    model = serializers.CharField(max_length=100, required=False, allow_blank=True)


class PagesInput(Typed):
    """Which part of a list."""

    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    offset = serializers.IntegerField(min_value=0, max_value=1_000_000, default=0)


class DifferencesInput(PagesInput):
    """Which calls of a comparison."""

    show = serializers.ChoiceField(["all", *KINDS], default="changed")


class Comparisons(AgentView):
    """Compare two policies over the last calls, of what these were made of. A worker does it."""

    scopes = {"GET": Scope.CONTEXT_READ, "POST": Scope.CONTEXT_WRITE}
    idempotent = True

    @extend_schema(parameters=[PagesInput], responses={200: ComparisonPage})
    def get(self, request: Request) -> Response:
        asked = parse(PagesInput, request)
        first, limit = asked["offset"], asked["limit"]
        with acting(self.account):
            rows = ContextComparison.objects.of(self.account).order_by("-created_at", "-pk")
            known = [brief(row) for row in rows[first : first + limit + 1]]
        following = first + limit if len(known) > limit else None
        return Response({"results": known[:limit], "next": following})

    @extend_schema(request=ComparisonInput, responses={202: ComparisonBrief})
    def post(self, request: Request) -> Response:
        asked = parse(ComparisonInput, request)
        wished = Wished(
            left=changes_of(asked["left"]) if "left" in asked else Changes(policy={}),
            right=changes_of(asked["right"]),
            calls=asked["calls"],
            agent_id=asked.get("agent_id") or "",
            model=asked.get("model") or "",
        )
        check_may_vary(self.request.auth, wished.left, wished.right)
        with acting(self.account):
            made = start(self.account, self.actor, wished)
            return self.seal(Response(brief(made), status=202))


class OneComparison(AgentView):
    """How far a comparison is, and what came out so far."""

    scopes = {"GET": Scope.CONTEXT_READ}
    bucket = "recall"

    @extend_schema(responses={200: Comparison})
    def get(self, request: Request, pk: UUID) -> Response:
        with acting(self.account):
            made = found(self.account, pk)
            return Response({**brief(made), "summary": _summary(summary(made))})


class Differences(AgentView):
    """What is different, call by call."""

    scopes = {"GET": Scope.CONTEXT_READ}
    bucket = "recall"

    @extend_schema(parameters=[DifferencesInput], responses={200: DifferencePage})
    def get(self, request: Request, pk: UUID) -> Response:
        asked = parse(DifferencesInput, request)
        first, limit = asked["offset"], asked["limit"]
        with acting(self.account):
            made = found(self.account, pk)
            rows = ContextDifference.objects.of(self.account).listed(made, asked["show"])
            known = list(rows[first : first + limit + 1])
        shown = [{"report_id": row.report_id, **row.differences} for row in known[:limit]]
        return Response({"results": shown, "next": first + limit if len(known) > limit else None})


def brief(made: ContextComparison) -> ComparisonBrief:
    return {
        "id": made.pk,
        "status": made.status,
        "left": made.left,
        "right": made.right,
        "agent_id": made.agent_id or None,
        "model": made.model or None,
        "total": made.total or made.wanted,
        "done": made.done,
        "gone": made.gone,
        "created_at": made.created_at,
        "finished_at": made.finished_at,
    }


def _summary(made: Summary) -> dict[str, Any]:
    spread = made.distribution
    return {**asdict(made), "distribution": {**asdict(spread), "percent": spread.percent}}
