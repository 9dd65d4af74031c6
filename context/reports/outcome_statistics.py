"""How calls went, by variant: as often as their callers told it."""

from dataclasses import dataclass

from context.reports.costs import Period
from kmapp.search.confidence import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Of one variant. Latency in milliseconds; None where nobody told any."""

    variant: str
    calls: int
    conversations: int
    success: Interval  # of the calls whose success was told
    latency: float | None  # the median
    latency_p95: float | None
    tokens: float  # of a call
    cost: float | None  # of a call that has one


def results(period: Period) -> list[Result]:
    """One query. Inside `acting`."""
    found = period.rows(
        "SELECT variant, count(*),"
        " count(DISTINCT conversation_id) FILTER (WHERE conversation_id <> ''),"
        " count(*) FILTER (WHERE success), count(success),"
        " percentile_cont(0.5) WITHIN GROUP (ORDER BY latency_ms),"
        " percentile_cont(0.95) WITHIN GROUP (ORDER BY latency_ms),"
        " avg(total)::float, avg(paid) FROM calls GROUP BY 1 ORDER BY 1"
    )
    return [
        Result(
            variant=variant,
            calls=calls,
            conversations=conversations,
            success=Interval(succeeded, told),
            latency=latency,
            latency_p95=p95,
            tokens=tokens,
            cost=cost,
        )
        for variant, calls, conversations, succeeded, told, latency, p95, tokens, cost in found
    ]
