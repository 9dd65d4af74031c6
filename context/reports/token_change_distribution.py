"""Totals of a comparison and the distribution of its changes. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import quantiles

EDGES = (-50.0, -25.0, -10.0, -1.0, 1.0, 10.0, 25.0, 50.0)  # percent


@dataclass(frozen=True, slots=True)
class TokenChange:
    before: int
    after: int

    @property
    def percent(self) -> float:
        return 100 * (self.after - self.before) / self.before if self.before else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """Calls whose tokens changed by at least `least` and less than `most` percent."""

    least: float | None  # both are fields of the API
    most: float | None
    calls: int

    @property
    def tone(self) -> str:
        """Return whether these calls take fewer, equally many or more tokens."""
        if self.most is not None and self.most <= 0:
            return "fewer"
        return "more" if self.least is not None and self.least >= 0 else "same"


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """Distribution of the change in tokens, in percent, over calls that fit both sides."""

    before: int = 0
    after: int = 0
    calls: int = 0
    tenth: float = 0.0
    median: float = 0.0
    ninetieth: float = 0.0
    percent: float = 0.0  # of all these calls
    buckets: list[Bucket] = field(default_factory=list)


def summarise_changes(pairs: Iterable[TokenChange]) -> Distribution:
    all_pairs = list(pairs)
    if not all_pairs:
        return Distribution()
    changes = sorted(pair.percent for pair in all_pairs)
    deciles = quantiles(changes, n=10, method="inclusive") if len(changes) > 1 else changes * 9
    edges = [None, *EDGES, None]
    total = TokenChange(
        sum(pair.before for pair in all_pairs), sum(pair.after for pair in all_pairs)
    )
    return Distribution(
        before=total.before,
        after=total.after,
        percent=total.percent,
        calls=len(all_pairs),
        tenth=deciles[0],
        median=deciles[4],
        ninetieth=deciles[8],
        buckets=[
            Bucket(least=least, most=most, calls=sum(_within(x, least, most) for x in changes))
            for least, most in pairwise(edges)
        ],
    )


def _within(value: float, least: float | None, most: float | None) -> bool:
    return (least is None or value >= least) and (most is None or value < most)
