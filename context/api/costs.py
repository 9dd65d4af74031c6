"""API of costs over time and possible savings."""

from dataclasses import asdict
from typing import Any, TypedDict

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from context.models import ContextSettings
from context.reports.costs import (
    DEFAULT_DAYS,
    MAX_DAYS,
    PARTS,
    Day,
    Part,
    Period,
    calculate_totals,
    list_days,
    list_parts,
)
from context.reports.savings import Saving, find_savings
from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import IdField, Typed
from kmapp.api.views import AgentView, parse


class CostPart(TypedDict):
    """Totals of one section, agent, tool, model or variant; `cost` is its share by tokens."""

    name: str
    calls: int
    tokens: int
    share: float
    cost: float | None


class CostDay(TypedDict):
    """Tokens of one day, by name; `other` is the sum of parts that are not listed."""

    day: str
    tokens: dict[str, int]
    other: int
    cost: float | None


class CostSaving(TypedDict):
    """The most that could be saved: `idle_tool`, `moving_prefix` or `repeated_results`."""

    kind: str
    name: str | None
    calls: int
    among: int
    tokens: int
    share: float
    cost: float | None


class Costs(TypedDict):
    """`cut`: only the newest calls are counted. `next`: an offset."""

    by: str
    days: int
    calls: int
    tokens: int
    cost: float | None
    cut: bool
    parts: list[CostPart]
    next: int | None
    by_day: list[CostDay]
    savings: list[CostSaving]


class PeriodInput(Typed):
    """A period and a filter of calls."""

    days = serializers.IntegerField(min_value=1, max_value=MAX_DAYS, default=DEFAULT_DAYS)
    agent_id = IdField()
    model = serializers.CharField(max_length=100, required=False, allow_blank=True)


class CostsInput(PeriodInput):
    """A period, a filter of calls and a grouping."""

    by = serializers.ChoiceField(tuple(PARTS), default="section")
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    offset = serializers.IntegerField(min_value=0, max_value=1_000_000, default=0)


class CostsOfCalls(AgentView):
    """Return tokens and cost of the last days by section, agent, tool, model or variant.

    Days are in the server's time zone. Costs are known for models with prices in the settings.
    """

    scopes = {"GET": Scope.CONTEXT_READ}
    bucket = "recall"

    @extend_schema(parameters=[CostsInput], responses={200: Costs})
    def get(self, request: Request) -> Response:
        params = parse(CostsInput, request)
        by, limit, offset = params["by"], params["limit"], params["offset"]
        with acting(self.account):
            period = Period.of(ContextSettings.objects.get_or_default(self.account), params)
            totals_ = calculate_totals(period)
            parts_, count = list_parts(period, by, limit=limit, offset=offset)
            days = list_days(period, by, [part.name for part in parts_])
            savings_ = find_savings(period, totals_)
        body = {
            "by": by,
            "days": period.days,
            "calls": totals_.calls,
            "tokens": totals_.tokens,
            "cost": totals_.cost,
            "cut": totals_.truncated,
            "parts": [_serialize_part(part, totals_.tokens) for part in parts_],
            "next": offset + limit if offset + limit < count else None,
            "by_day": [_serialize_day(day) for day in days],
            "savings": [_serialize_saving(saving) for saving in savings_],
        }
        return Response(body)


def _serialize_part(part: Part, whole: int) -> dict[str, Any]:
    return {**asdict(part), "share": part.tokens / whole}


def _serialize_day(day: Day) -> CostDay:
    return {
        "day": day.day.isoformat(),
        "tokens": {name: size for name, size in day.tokens.items() if name is not None},
        "other": day.tokens.get(None, 0),
        "cost": day.cost,
    }


def _serialize_saving(saving: Saving) -> dict[str, Any]:
    return {**asdict(saving), "name": saving.name or None}
