"""Statistics of variants: success, latency and cost of their calls in a period."""

from dataclasses import dataclass

from context.reports.costs import Period
from kmapp.search.wilson_interval import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantFigures:
    """Statistics of one variant. Latency in milliseconds; None without any report."""

    variant: str
    calls: int
    conversations: int
    success: Interval  # of the calls with a reported outcome
    latency: float | None  # the median
    latency_p95: float | None
    tokens: float  # per call
    cost: float | None  # per call with a price


def list_variant_figures(period: Period) -> list[VariantFigures]:
    rows = period.query(
        "SELECT variant, count(*),"
        " count(DISTINCT conversation_id) FILTER (WHERE conversation_id <> ''),"
        " count(*) FILTER (WHERE success), count(success),"
        " percentile_cont(0.5) WITHIN GROUP (ORDER BY latency_ms),"
        " percentile_cont(0.95) WITHIN GROUP (ORDER BY latency_ms),"
        " avg(total)::float, avg(paid) FROM calls GROUP BY 1 ORDER BY 1"
    )
    return [
        VariantFigures(
            variant=variant,
            calls=calls,
            conversations=conversations,
            success=Interval(succeeded, reported),
            latency=latency,
            latency_p95=p95,
            tokens=tokens,
            cost=cost,
        )
        for variant, calls, conversations, succeeded, reported, latency, p95, tokens, cost in rows
    ]
