"""What calls cost over time: by section, agent, tool, model or variant.

Everything is read from the columns of the newest calls of a period, never from their reports.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Self
from uuid import UUID

from django.db import connection
from django.utils import timezone

from context.models import ContextSettings
from context.reports.call_report import MILLION, SECTIONS

MOST_CALLS = 10_000  # that are added up; where a period has more, the newest
USUAL_DAYS, MOST_DAYS = 30, 365

# Prices are the account's of today; `uncached` is what a token costs more that no cache gave.
CALLS = f"""
WITH priced AS (
  SELECT key AS model, (value ->> 'input')::float / {MILLION} AS price,
    ((value ->> 'input')::float - (value ->> 'cached')::float) / {MILLION} AS uncached
  FROM jsonb_each(%(prices)s::jsonb)
), calls AS NOT MATERIALIZED (
  SELECT one.*, one.cost::float AS paid, priced.price, priced.uncached,
    (one.created_at AT TIME ZONE %(zone)s)::date AS day
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

# Most calls offer the tools that others offer: each set of them is read once.
TOOLS = """
(SELECT tool.key AS name, day, calls, tool.value::int * calls AS tokens,
  tool.value::int * paid_each AS paid, tool.value::int * price * calls AS money
 FROM (
  SELECT tool_tokens, day, price, count(*) AS calls, sum(paid / nullif(total, 0)) AS paid_each
  FROM calls GROUP BY 1, 2, 3
 ) offered CROSS JOIN LATERAL jsonb_each_text(tool_tokens) AS tool
) part
"""
_SECTIONS = ", ".join(f"('{name}', {name})" for name in SECTIONS)
_OF_SECTIONS = f"""
(SELECT section.name, day, 1 AS calls, section.tokens, paid * section.tokens / total AS paid
 FROM calls CROSS JOIN LATERAL (VALUES {_SECTIONS}) AS section (name, tokens)
 WHERE section.tokens > 0
) part
"""  # noqa: S608
_WHOLE = "(SELECT {} AS name, day, 1 AS calls, total AS tokens, paid FROM calls) part"
# What calls fall into: names, calls, tokens and money, for which no call counts twice.
PARTS = {
    "section": _OF_SECTIONS,
    "agent": _WHOLE.format("agent_id"),
    "tool": TOOLS,
    "model": _WHOLE.format("model"),
    "variant": _WHOLE.format("variant"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Which calls: those of the last days, perhaps of one agent or one model."""

    account_id: UUID
    days: int
    prices: Mapping[str, Any]
    agent_id: str = ""
    model: str = ""

    @classmethod
    def of(cls, settings: ContextSettings, asked: Mapping[str, Any]) -> Self:
        """The one asked for, at the account's prices."""
        return cls(
            account_id=settings.account_id,
            days=asked.get("days") or USUAL_DAYS,
            prices=settings.prices,
            agent_id=asked.get("agent_id") or "",
            model=asked.get("model") or "",
        )

    def rows(self, query: str, **more: Any) -> list[tuple[Any, ...]]:
        """What a query over these calls gives. Inside `acting`."""
        today = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
        values: dict[str, Any] = {
            "account": self.account_id,
            "since": today - timedelta(days=self.days - 1),
            "agent_id": self.agent_id,
            "model": self.model,
            "prices": json.dumps(self.prices),
            "most": MOST_CALLS,
            "zone": timezone.get_current_timezone_name(),
        }
        with connection.cursor() as cursor:
            cursor.execute(CALLS + query, {**values, **more})
            return list(cursor.fetchall())


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one section, agent, tool, model or variant took. `paid` is its share of the cost."""

    name: str
    calls: int
    tokens: int
    paid: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """All the calls together; `cut` when there were more than are added up."""

    calls: int
    tokens: int
    paid: float | None
    agents: int

    @property
    def cut(self) -> bool:
        return self.calls >= MOST_CALLS


def totals(period: Period) -> Totals:
    [(calls, tokens, paid, agents)] = period.rows(
        "SELECT count(*), coalesce(sum(total), 0), sum(paid), count(DISTINCT agent_id) FROM calls"
    )
    return Totals(calls=calls, tokens=tokens, paid=paid, agents=agents)


def parts(period: Period, by: str, *, limit: int, offset: int = 0) -> tuple[list[Part], int]:
    """The dearest first, and how many there are in all."""
    found = period.rows(
        "SELECT name, sum(calls)::int, sum(tokens)::bigint, sum(paid), count(*) OVER ()"  # noqa: S608
        f" FROM {PARTS[by]} GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT %(limit)s OFFSET %(offset)s",
        limit=limit,
        offset=offset,
    )
    shown = [Part(name=row[0], calls=row[1], tokens=row[2], paid=row[3]) for row in found]
    return shown, found[0][4] if found else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """What one day's calls took, by name; under None what falls to other names."""

    day: date
    tokens: Mapping[str | None, int]
    paid: float | None


def by_day(period: Period, by: str, names: Sequence[str]) -> list[Day]:
    """Every day of the period, oldest first."""
    found = period.rows(
        "SELECT day, CASE WHEN name = ANY (%(names)s) THEN name END, sum(tokens)::bigint, sum(paid)"  # noqa: S608
        f" FROM {PARTS[by]} GROUP BY 1, 2",
        names=list(names),
    )
    tokens: dict[date, dict[str | None, int]] = {}
    paid: dict[date, float | None] = {}
    for day, name, size, cost in found:
        tokens.setdefault(day, {})[name] = size
        paid[day] = paid.get(day) if cost is None else (paid.get(day) or 0.0) + cost
    today = timezone.localdate()
    days = [today - timedelta(days=ago) for ago in reversed(range(period.days))]
    return [Day(day=day, tokens=tokens.get(day, {}), paid=paid.get(day)) for day in days]
