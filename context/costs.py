"""What calls cost over time: by section, agent, tool, model or variant.

Everything is read from the columns of the newest calls of a period, never from their reports.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from context.reporting import MILLION, SECTIONS

MOST_CALLS = 10_000  # that are added up; where a period has more, the newest
MOST_DAYS = 365

# Prices are the account's of today; `uncached` is what a token costs more that no cache gave.
CALLS = f"""
WITH priced AS (
  SELECT key AS model, (value ->> 'input')::float / {MILLION} AS price,
    ((value ->> 'input')::float - (value ->> 'cached')::float) / {MILLION} AS uncached
  FROM jsonb_each(%(prices)s::jsonb)
), calls AS MATERIALIZED (
  SELECT one.*, one.cost::float AS paid, priced.price, priced.uncached
  FROM (
    SELECT id, conversation_id, thread_id, user_id, agent_id, model, variant, created_at, cost,
      prefix_sha256, tool_tokens, called_tools, total, {", ".join(SECTIONS)}
    FROM context_contextcostreport
    WHERE account_id = %(account)s AND created_at >= %(since)s
      AND (%(agent_id)s = '' OR agent_id = %(agent_id)s)
      AND (%(model)s = '' OR model = %(model)s)
    ORDER BY created_at DESC, id DESC LIMIT %(most)s
  ) one LEFT JOIN priced ON priced.model = one.model
)
"""  # noqa: S608

# What a call falls into: names and tokens, which for one call add up to what is asked about.
_SECTIONS = ", ".join(f"('{name}', calls.{name})" for name in SECTIONS)
PARTS = {
    "section": f"(VALUES {_SECTIONS})",
    "agent": "(VALUES (calls.agent_id, calls.total))",
    "tool": "(SELECT key, value::int FROM jsonb_each_text(calls.tool_tokens))",
    "model": "(VALUES (calls.model, calls.total))",
    "variant": "(VALUES (calls.variant, calls.total))",
}
_PAID = "sum(calls.paid * part.tokens / nullif(calls.total, 0))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Which calls: those of the last days, perhaps of one agent or one model."""

    account_id: UUID
    days: int
    prices: Mapping[str, Any]
    agent_id: str = ""
    model: str = ""

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
        f"SELECT part.name, count(*), sum(part.tokens), {_PAID}, count(*) OVER ()"  # noqa: S608
        f" FROM calls CROSS JOIN LATERAL {PARTS[by]} AS part (name, tokens)"
        " WHERE part.tokens > 0 GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT %(limit)s OFFSET %(offset)s",
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
        "SELECT (calls.created_at AT TIME ZONE %(zone)s)::date,"  # noqa: S608
        f" CASE WHEN part.name = ANY (%(names)s) THEN part.name END, sum(part.tokens), {_PAID}"
        f" FROM calls CROSS JOIN LATERAL {PARTS[by]} AS part (name, tokens)"
        " WHERE part.tokens > 0 GROUP BY 1, 2",
        names=list(names),
        zone=timezone.get_current_timezone_name(),
    )
    tokens: dict[date, dict[str | None, int]] = {}
    paid: dict[date, float | None] = {}
    for day, name, size, cost in found:
        tokens.setdefault(day, {})[name] = size
        paid[day] = paid.get(day) if cost is None else (paid.get(day) or 0.0) + cost
    today = timezone.localdate()
    days = [today - timedelta(days=ago) for ago in reversed(range(period.days))]
    return [Day(day=day, tokens=tokens.get(day, {}), paid=paid.get(day)) for day in days]
