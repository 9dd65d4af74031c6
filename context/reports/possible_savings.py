"""Possible savings: unused tools, unstable prefixes, repeated results."""

from dataclasses import dataclass

from context.reports.costs import TOOL_PARTS, Period, Totals

MIN_CALLS = 20  # needed for an estimate
MIN_SHARE = 0.01  # of all tokens
MAX_TOOLS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """A possible saving of at most `tokens`; `cost` at today's input prices.

    `calls` are the affected calls: they offered the tool, changed the prefix or repeated results;
    `among` are the calls that could be affected.
    """

    kind: str  # idle_tool, moving_prefix, repeated_results
    name: str | None  # of the tool
    calls: int
    among: int
    tokens: int
    share: float  # of all tokens, 0..1
    cost: float | None


def find_savings(period: Period, totals: Totals) -> list[Saving]:
    """Return the possible savings, largest first. Two queries."""
    if totals.calls < MIN_CALLS:
        return []
    candidates = [*_idle_tools(period, totals), *_repeated_content(period, totals)]
    return sorted(candidates, key=lambda saving: -saving.tokens)


def _idle_tools(period: Period, totals: Totals) -> list[Saving]:
    """Return tools that were offered often and never called."""
    rows = period.query(
        "SELECT name, sum(calls)::int, sum(tokens)::bigint, sum(money)"  # noqa: S608
        f" FROM {TOOL_PARTS} WHERE name NOT IN (SELECT unnest(called_tools) FROM calls) GROUP BY 1"
        " HAVING sum(calls) >= %(least)s AND sum(tokens) >= %(tokens)s"
        " ORDER BY 3 DESC, 1 LIMIT %(limit)s",
        least=MIN_CALLS,
        tokens=MIN_SHARE * totals.tokens,
        limit=MAX_TOOLS,
    )
    return [
        Saving(
            kind="idle_tool",
            name=name,
            calls=calls,
            among=totals.calls,
            tokens=tokens,
            share=tokens / totals.tokens,
            cost=money,
        )
        for name, calls, tokens, money in rows
    ]


def _repeated_content(period: Period, totals: Totals) -> list[Saving]:
    """Compare each call with the previous one of its conversation.

    A changed prefix misses the provider's cache; repeated results could be placeholders.
    """
    [row] = period.query(
        "SELECT count(*),"
        " count(*) FILTER (WHERE moved), sum(prefix) FILTER (WHERE moved),"
        " sum(prefix * uncached) FILTER (WHERE moved),"
        " count(*) FILTER (WHERE again > 0), sum(again), sum(again * price)"
        " FROM (SELECT price, uncached, system + tools_schema AS prefix,"
        "  prefix_sha256 <> lag(prefix_sha256) OVER before AS moved,"
        "  least(tool_results, lag(tool_results) OVER before) AS again"
        "  FROM calls WHERE conversation_id <> ''"
        "  WINDOW before AS"
        "   (PARTITION BY conversation_id, thread_id, user_id ORDER BY created_at, id)) one"
        " WHERE moved IS NOT NULL"
    )
    among, *candidates = row
    kinds = zip(
        ("moving_prefix", "repeated_results"), (candidates[:3], candidates[3:]), strict=True
    )
    return [
        Saving(
            kind=kind,
            name=None,
            calls=calls,
            among=among,
            tokens=tokens,
            share=tokens / totals.tokens,
            cost=money,
        )
        for kind, (calls, tokens, money) in kinds
        if calls >= MIN_CALLS and tokens >= MIN_SHARE * totals.tokens
    ]
