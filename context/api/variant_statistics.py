"""API of variant statistics."""

from typing import TypedDict

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from context.api.costs import PeriodInput
from context.models import ContextSettings
from context.reports.costs import Period
from context.reports.variant_statistics import VariantFigures, list_variant_figures
from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.typed_dict_schemas import ParsedAnswer, serialize_as
from kmapp.api.views import AgentView, parse


class VariantResult(TypedDict):
    """Statistics of one variant; `success` is a rate of reported outcomes, with a 95 % interval."""

    variant: str
    calls: int
    conversations: int
    told: int
    succeeded: int
    success: float | None
    success_low: float
    success_high: float
    latency_ms: float | None
    latency_p95_ms: float | None
    tokens: float
    cost: float | None


class VariantResults(ParsedAnswer):
    """Statistics by variant, over the newest calls of a period."""

    days: int
    shares: dict[str, int]
    results: list[VariantResult]


class VariantStatistics(AgentView):
    """Compare variants by success, latency and cost, from the reported outcomes."""

    scopes = {"GET": Scope.CONTEXT_READ}

    @extend_schema(parameters=[PeriodInput], responses={200: VariantResults})
    def get(self, request: Request) -> Response:
        params = parse(PeriodInput, request)
        with acting(self.account):
            settings = ContextSettings.objects.get_or_default(self.account)
            period = Period.of(settings, params)
            results = [_serialize_result(result) for result in list_variant_figures(period)]
        return Response({"days": period.days, "shares": settings.variants, "results": results})


def _serialize_result(result: VariantFigures) -> VariantResult:
    success = result.success
    return serialize_as(
        VariantResult,
        result,
        told=success.total,
        succeeded=success.hits,
        success=success.share if success.total else None,
        success_low=success.low,
        success_high=success.high,
        latency_ms=result.latency,
        latency_p95_ms=result.latency_p95,
    )
