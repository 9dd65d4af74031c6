"""What calls could do without: tools that nobody calls, prefixes that move, results sent again."""

from dataclasses import dataclass

from context.reports.costs import TOOLS, Period, Totals

LEAST_CALLS = 20  # before anything is said
LEAST_SHARE = 0.01  # of all tokens
MOST_TOOLS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """Something to be saved, at most `tokens` of the period; money at today's input prices.

    `calls` are those that it was seen in: that offered the tool, whose prefix was another one than
    in the call before, that sent results again. `among` are those that could have been so.
    """

    kind: str  # idle_tool, moving_prefix, repeated_results
    name: str
    calls: int
    among: int
    tokens: int
    share: float  # of all tokens, 0..1
    money: float | None


def savings(period: Period, whole: Totals) -> list[Saving]:
    """The biggest first. Two queries."""
    if whole.calls < LEAST_CALLS:
        return []
    found = [*_idle_tools(period, whole), *_repeated(period, whole)]
    return sorted(found, key=lambda each: -each.tokens)


def _idle_tools(period: Period, whole: Totals) -> list[Saving]:
    """Tools that were offered again and again, and never called."""
    rows = period.rows(
        "SELECT name, sum(calls)::int, sum(tokens)::bigint, sum(money)"  # noqa: S608
        f" FROM {TOOLS} WHERE name NOT IN (SELECT unnest(called_tools) FROM calls) GROUP BY 1"
        " HAVING sum(calls) >= %(least)s AND sum(tokens) >= %(tokens)s"
        " ORDER BY 3 DESC, 1 LIMIT %(limit)s",
        least=LEAST_CALLS,
        tokens=LEAST_SHARE * whole.tokens,
        limit=MOST_TOOLS,
    )
    return [
        Saving(
            kind="idle_tool",
            name=name,
            calls=calls,
            among=whole.calls,
            tokens=tokens,
            share=tokens / whole.tokens,
            money=money,
        )
        for name, calls, tokens, money in rows
    ]


def _repeated(period: Period, whole: Totals) -> list[Saving]:
    """What a call repeats of the call before it in its conversation, and what it could have kept.

    A prefix that moved is one that the provider's cache could not give; results that were there
    before could stand as placeholders.
    """
    [row] = period.rows(
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
    among, *found = row
    told = zip(("moving_prefix", "repeated_results"), (found[:3], found[3:]), strict=True)
    return [
        Saving(
            kind=kind,
            name="",
            calls=calls,
            among=among,
            tokens=tokens,
            share=tokens / whole.tokens,
            money=money,
        )
        for kind, (calls, tokens, money) in told
        if calls >= LEAST_CALLS and tokens >= LEAST_SHARE * whole.tokens
    ]
