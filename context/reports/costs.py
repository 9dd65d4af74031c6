"""Costs of calls over time by section, session, agent, tool, model or variant.

Read from the columns of the newest calls of a period, never from their reports.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Literal, Self
from uuid import UUID

from django.utils import timezone

from context.models import ContextSettings
from context.reports.call_report import MILLION, SECTIONS
from kmapp.database.raw_sql import fetch_all

MAX_CALLS = 10_000  # the newest ones of a period with more
DEFAULT_DAYS, MAX_DAYS = 30, 365

# Prices are today's; `uncached` is the surcharge of a token that was not cached.
CALLS = f"""
WITH priced AS (
  SELECT key AS model, (value ->> 'input')::float / {MILLION} AS price,
    ((value ->> 'input')::float - (value ->> 'cached')::float) / {MILLION} AS uncached
  FROM jsonb_each(%(prices)s::jsonb)
), calls AS NOT MATERIALIZED (
  SELECT one.*, one.cost::float AS paid, priced.price, priced.uncached,
    date_trunc(%(bucket)s, one.created_at AT TIME ZONE %(zone)s) AS bucket
  FROM (
    SELECT id, conversation_id, thread_id, user_id, agent_id, model, variant, created_at, cost,
      success, latency_ms, prefix_sha256, tool_tokens, called_tools, total, {", ".join(SECTIONS)}
    FROM context_contextcostreport
    WHERE account_id = %(account)s AND created_at >= %(since)s
      AND (%(agent_id)s = '' OR agent_id = %(agent_id)s)
      AND (%(model)s = '' OR model = %(model)s)
    ORDER BY created_at DESC, id DESC LIMIT %(most)s
  ) one LEFT JOIN priced ON priced.model = one.model
)
"""  # noqa: S608

# Most calls share their set of tools, so that each set is expanded once.
TOOL_PARTS = """
(SELECT tool.key AS name, bucket, calls, tool.value::int * calls AS tokens,
  tool.value::int * paid_each AS paid, tool.value::int * price * calls AS money
 FROM (
  SELECT tool_tokens, bucket, price, count(*) AS calls, sum(paid / nullif(total, 0)) AS paid_each
  FROM calls GROUP BY 1, 2, 3
 ) offered CROSS JOIN LATERAL jsonb_each_text(tool_tokens) AS tool
) part
"""
_SECTIONS = ", ".join(f"('{name}', {name})" for name in SECTIONS)
_SECTION_PARTS = f"""
(SELECT section.name, bucket, 1 AS calls, section.tokens, paid * section.tokens / total AS paid
 FROM calls CROSS JOIN LATERAL (VALUES {_SECTIONS}) AS section (name, tokens)
 WHERE section.tokens > 0
) part
"""  # noqa: S608
_CALL_PARTS = "(SELECT {} AS name, bucket, 1 AS calls, total AS tokens, paid FROM calls) part"
# Groupings of calls: name, calls, tokens and cost, without double counting.
PARTS = {
    "section": _SECTION_PARTS,
    "session": _CALL_PARTS.format("conversation_id"),
    "agent": _CALL_PARTS.format("agent_id"),
    "tool": TOOL_PARTS,
    "model": _CALL_PARTS.format("model"),
    "variant": _CALL_PARTS.format("variant"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """The calls of the last days, optionally of one agent or one model."""

    account_id: UUID
    days: int
    prices: Mapping[str, Any]
    agent_id: str = ""
    model: str = ""
    bucket: Literal["hour", "day", "week"] = "day"

    @classmethod
    def of(cls, settings: ContextSettings, params: Mapping[str, Any]) -> Self:
        return cls(
            account_id=settings.account_id,
            days=params.get("days") or DEFAULT_DAYS,
            prices=settings.prices,
            agent_id=params.get("agent_id") or "",
            model=params.get("model") or "",
        )

    @property
    def first_day(self) -> date:
        return timezone.localdate() - timedelta(days=self.days - 1)

    def bucket_starts(self) -> list[datetime]:
        """Return the starts of the buckets in local time, as PostgreSQL truncates times."""
        today = datetime.combine(timezone.localdate(), time())
        if self.bucket == "hour":
            return [today + timedelta(hours=hour) for hour in range(24)]
        days = [today - timedelta(days=ago) for ago in reversed(range(self.days))]
        if self.bucket == "day":
            return days
        return sorted({day - timedelta(days=day.weekday()) for day in days})

    def query(self, query: str, **more: Any) -> list[tuple[Any, ...]]:
        """Return the result of a query over these calls. Inside `acting`."""
        today = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
        values: dict[str, Any] = {
            "account": self.account_id,
            "since": today - timedelta(days=self.days - 1),
            "agent_id": self.agent_id,
            "model": self.model,
            "prices": json.dumps(self.prices),
            "most": MAX_CALLS,
            "bucket": self.bucket,
            "zone": timezone.get_current_timezone_name(),
        }
        return fetch_all(CALLS + query, {**values, **more})


@dataclass(frozen=True, slots=True, kw_only=True)
class CostShare:
    """Totals of one part of the costs; `cost` is its share by tokens."""

    name: str
    calls: int
    tokens: int
    cost: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Totals of all calls; `truncated` if the period has more calls than are counted."""

    calls: int
    tokens: int
    cost: float | None
    agents: int

    @property
    def truncated(self) -> bool:
        return self.calls >= MAX_CALLS


def calculate_totals(period: Period) -> Totals:
    [(calls, tokens, costs, agents)] = period.query(
        "SELECT count(*), coalesce(sum(total), 0), sum(paid), count(DISTINCT agent_id) FROM calls"
    )
    return Totals(calls=calls, tokens=tokens, cost=costs, agents=agents)


def list_parts(
    period: Period, by: str, *, limit: int, offset: int = 0
) -> tuple[list[CostShare], int]:
    """Return a page of parts with most tokens first, and the number of all parts."""
    rows = period.query(
        "SELECT name, sum(calls)::int, sum(tokens)::bigint, sum(paid), count(*) OVER ()"  # noqa: S608
        f" FROM {PARTS[by]} GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT %(limit)s OFFSET %(offset)s",
        limit=limit,
        offset=offset,
    )
    parts = [CostShare(name=row[0], calls=row[1], tokens=row[2], cost=row[3]) for row in rows]
    return parts, rows[0][4] if rows else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeBucket:
    """Totals of one hour, day or week, by name; None is the sum of the other names."""

    start: datetime  # local time, without a time zone
    tokens: Mapping[str | None, int]
    cost: float | None


def list_buckets(period: Period, by: str, names: Sequence[str]) -> list[TimeBucket]:
    """Return every bucket of the period, also those without calls."""
    rows = period.query(
        "SELECT bucket, CASE WHEN name = ANY (%(names)s) THEN name END, sum(tokens)::bigint,"  # noqa: S608
        f" sum(paid) FROM {PARTS[by]} GROUP BY 1, 2",
        names=list(names),
    )
    tokens: dict[datetime, dict[str | None, int]] = {}
    costs: dict[datetime, float | None] = {}
    for start, name, size, cost in rows:
        tokens.setdefault(start, {})[name] = size
        costs[start] = costs.get(start) if cost is None else (costs.get(start) or 0.0) + cost
    return [
        TimeBucket(start=start, tokens=tokens.get(start, {}), cost=costs.get(start))
        for start in period.bucket_starts()
    ]


# Upper bounds of the tokens of a call, for the distribution of calls by size.
SIZES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)


def count_sizes(period: Period) -> list[int]:
    """Return the number of calls below each of `SIZES`, and of the larger ones."""
    rows = period.query(
        "SELECT width_bucket(total, %(sizes)s::int[]), count(*) FROM calls GROUP BY 1",
        sizes=list(SIZES),
    )
    counts = dict(rows)
    return [counts.get(index, 0) for index in range(len(SIZES) + 1)]
