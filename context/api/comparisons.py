"""API of replays of recorded calls, and of policy comparisons over many of them."""

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
from context.actions.record_call import get_report
from context.actions.replays import (
    VARIED_SOURCES,
    Changes,
    get_recorded_call,
    replay,
    retrieve_again,
)
from context.api.assemble_input import MAX_TOKENS, READ_SCOPES, check_policy
from context.api.request_serializers import PagesInput
from context.api.response_types import CallDifference, Replayed
from context.assembly.tool_offer import PROFILES
from context.models import ContextComparison, ContextDifference
from context.models.comparisons import KINDS
from context.reports.comparison_totals import Bucket, Distribution
from kmapp.accounts.acting import acting
from kmapp.accounts.authentication import KeyPrincipal
from kmapp.accounts.scopes import Scope
from kmapp.api.response_types import COMPONENT_NAMES, ParsedAnswer, serialize_as
from kmapp.api.serializers import IdField, Typed
from kmapp.api.views import AgentView, parse
from kmapp.errors import Denied, Invalid
from kmapp.search.variants import VARIANTS

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


class ReplayInput(Typed):
    """Changes to the recorded call. Without changes, the call is compared with itself."""

    policy = serializers.DictField(default=dict, validators=[check_policy])
    context_window_tokens = serializers.IntegerField(
        source="window", min_value=1, max_value=MAX_TOKENS, required=False
    )
    reserved_output_tokens = serializers.IntegerField(
        source="reserve", min_value=0, max_value=MAX_TOKENS, required=False
    )
    tool_profile = serializers.ChoiceField(tuple(PROFILES), source="profile", required=False)
    variant = serializers.ChoiceField(
        tuple(VARIANTS),
        required=False,
        help_text="Queries memory and knowledge again. By default the recorded results are used.",
    )


def check_variant_scopes(principal: KeyPrincipal, *changes: Changes) -> None:
    """Raise Denied unless the key may read the sources that a variant queries."""
    required = [READ_SCOPES[name] for name in VARIED_SOURCES]
    missing = [scope for scope in required if not principal.may(scope)]
    if missing and any(change.variant for change in changes):
        raise Denied(
            f"A variant queries memory and knowledge again. The key needs {missing[0].value}.",
            code="missing_scope",
        )


class Replay(AgentView):
    """Replay a recorded call from its stored inputs and compare. Nothing is sent or stored.

    Expired inputs return 410 `inputs_expired`.
    """

    scopes = {"POST": Scope.CONTEXT_READ}

    @extend_schema(request=ReplayInput, responses={200: Replayed})
    def post(self, request: Request, pk: UUID) -> Response:
        params = parse(ReplayInput, request)
        with acting(self.account):
            recording = get_recorded_call(self.account, get_report(self.account, pk))
        variant_name = self.requested_variant.name if self.requested_variant else None
        changes = Changes(**{"variant": variant_name, **params})
        check_variant_scopes(self.request.auth, changes)
        recording = retrieve_again(self.account, recording, changes)
        call_input, policy = changes.apply_to(recording)
        if call_input.budget <= 0:
            raise Invalid(
                "The reserved output leaves nothing of the context window.",
                issues=[{"path": "reserved_output_tokens", "message": "leaves nothing"}],
            )
        result = replay(recording, changes)
        variant = changes.variant or recording.report.variant
        common = {"report_id": pk, "policy": policy.body(), "variant": variant}
        return Response({**common, **result.differences})


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
