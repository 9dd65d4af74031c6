"""API of costs over time and possible savings."""

from dataclasses import asdict
from typing import TypedDict

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from context.api.request_serializers import PagesInput
from context.models import ContextSettings
from context.reports.costs import (
    DEFAULT_DAYS,
    MAX_DAYS,
    PARTS,
    Period,
    TimeBucket,
    calculate_totals,
    list_buckets,
    list_parts,
)
from context.reports.possible_savings import Saving, find_savings
from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import IdField, Typed
from kmapp.api.typed_dict_schemas import COMPONENT_NAMES, ParsedAnswer, serialize_as
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


COMPONENT_NAMES[Saving] = "CostSaving"


class Costs(ParsedAnswer):
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
    savings: list[Saving]


class PeriodInput(Typed):
    """A period and a filter of calls."""

    days = serializers.IntegerField(min_value=1, max_value=MAX_DAYS, default=DEFAULT_DAYS)
    agent_id = IdField()
    model = serializers.CharField(max_length=100, required=False, allow_blank=True)


class CostsInput(PeriodInput, PagesInput):
    """A period, a filter of calls and a grouping."""

    by = serializers.ChoiceField(tuple(PARTS), default="section")


class CallCosts(AgentView):
    """Return tokens and cost of the last days by section, agent, tool, model or variant.

    Days are in the server's time zone. Costs are available for models with prices in the settings.
    """

    scopes = {"GET": Scope.CONTEXT_READ}

    @extend_schema(parameters=[CostsInput], responses={200: Costs})
    def get(self, request: Request) -> Response:
        params = parse(CostsInput, request)
        by, limit, offset = params["by"], params["limit"], params["offset"]
        with acting(self.account):
            period = Period.of(ContextSettings.objects.get_or_default(self.account), params)
            totals = calculate_totals(period)
            parts, count = list_parts(period, by, limit=limit, offset=offset)
            days = list_buckets(period, by, [part.name for part in parts])
            savings = find_savings(period, totals)
        body = serialize_as(
            Costs,
            totals,
            by=by,
            days=period.days,
            cut=totals.truncated,
            parts=[
                serialize_as(CostPart, part, share=part.tokens / max(totals.tokens, part.tokens, 1))
                for part in parts  # which may have calls that are newer than the totals
            ],
            next=offset + limit if offset + limit < count else None,
            by_day=[_serialize_day(day) for day in days],
            savings=[asdict(saving) for saving in savings],
        )
        return Response(body)


def _serialize_day(bucket: TimeBucket) -> CostDay:
    tokens = {name: size for name, size in bucket.tokens.items() if name is not None}
    day = bucket.start.date().isoformat()
    return serialize_as(CostDay, bucket, day=day, tokens=tokens, other=bucket.tokens.get(None, 0))
