"""What calls cost over time, and what could be saved."""

from typing import TypedDict

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from context.api.request_serializers import IdField
from context.models import ContextSettings
from context.reports.costs import (
    MOST_DAYS,
    PARTS,
    USUAL_DAYS,
    Day,
    Part,
    Period,
    by_day,
    parts,
    totals,
)
from context.reports.savings import Saving, savings
from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import Typed
from kmapp.api.views import AgentView, parse


class CostPart(TypedDict):
    """What one section, agent, tool, model or variant took; `cost` is its share by tokens."""

    name: str
    calls: int
    tokens: int
    share: float
    cost: float | None


class CostDay(TypedDict):
    """One day's tokens, by name; under `other` those of the parts that are not listed."""

    day: str
    tokens: dict[str, int]
    other: int
    cost: float | None


class CostSaving(TypedDict):
    """At most what could be saved: `idle_tool`, `moving_prefix` or `repeated_results`."""

    kind: str
    name: str | None
    calls: int
    among: int
    tokens: int
    share: float
    cost: float | None


class Costs(TypedDict):
    """`cut`: there were more calls than are added up, and the newest were. `next`: an offset."""

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
    """Which calls."""

    days = serializers.IntegerField(min_value=1, max_value=MOST_DAYS, default=USUAL_DAYS)
    agent_id = IdField()
    model = serializers.CharField(max_length=100, required=False, allow_blank=True)


class CostsInput(PeriodInput):
    """Which calls, and what to add them up by."""

    by = serializers.ChoiceField(tuple(PARTS), default="section")
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    offset = serializers.IntegerField(min_value=0, max_value=1_000_000, default=0)


class CostsOfCalls(AgentView):
    """Tokens and money of the last days by section, agent, tool, model or variant, dearest first.

    Days are the server's. Money is known for models that the account has prices of.
    """

    scopes = {"GET": Scope.CONTEXT_READ}
    bucket = "recall"

    @extend_schema(parameters=[CostsInput], responses={200: Costs})
    def get(self, request: Request) -> Response:
        asked = parse(CostsInput, request)
        by, limit, offset = asked["by"], asked["limit"], asked["offset"]
        with acting(self.account):
            period = Period.of(ContextSettings.objects.here(self.account), asked)
            whole = totals(period)
            shown, number = parts(period, by, limit=limit, offset=offset)
            days = by_day(period, by, [part.name for part in shown])
            found = savings(period, whole)
        answer: Costs = {
            "by": by,
            "days": period.days,
            "calls": whole.calls,
            "tokens": whole.tokens,
            "cost": whole.paid,
            "cut": whole.cut,
            "parts": [_part(part, whole.tokens) for part in shown],
            "next": offset + limit if offset + limit < number else None,
            "by_day": [_day(day) for day in days],
            "savings": [_saving(each) for each in found],
        }
        return Response(answer)


def _part(part: Part, whole: int) -> CostPart:
    return {
        "name": part.name,
        "calls": part.calls,
        "tokens": part.tokens,
        "share": part.tokens / whole,
        "cost": part.paid,
    }


def _day(day: Day) -> CostDay:
    return {
        "day": day.day.isoformat(),
        "tokens": {name: size for name, size in day.tokens.items() if name is not None},
        "other": day.tokens.get(None, 0),
        "cost": day.paid,
    }


def _saving(saving: Saving) -> CostSaving:
    return {
        "kind": saving.kind,
        "name": saving.name or None,
        "calls": saving.calls,
        "among": saving.among,
        "tokens": saving.tokens,
        "share": saving.share,
        "cost": saving.money,
    }
