"""What a comparison says altogether: sums of both sides, and how changes are distributed. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import quantiles

EDGES = (-50.0, -25.0, -10.0, -1.0, 1.0, 10.0, 25.0, 50.0)  # percent


@dataclass(frozen=True, slots=True)
class Pair:
    """One call that fits both sides."""

    before: int
    after: int

    @property
    def percent(self) -> float:
        return 100 * (self.after - self.before) / self.before if self.before else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """Calls whose tokens changed by `least` percent or more and by less than `most`."""

    least: float | None
    most: float | None
    calls: int

    @property
    def tone(self) -> str:
        """Whether these calls take fewer tokens, as many, or more."""
        if self.most is not None and self.most <= 0:
            return "fewer"
        return "more" if self.least is not None and self.least >= 0 else "same"


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """Of the change in tokens, in percent, over the calls that fit both sides."""

    before: int = 0
    after: int = 0
    calls: int = 0
    tenth: float = 0.0
    median: float = 0.0
    ninetieth: float = 0.0
    buckets: Sequence[Bucket] = field(default_factory=tuple)

    @property
    def percent(self) -> float:
        return Pair(self.before, self.after).percent


def distribution(pairs: Iterable[Pair]) -> Distribution:
    known = list(pairs)
    if not known:
        return Distribution()
    changes = sorted(pair.percent for pair in known)
    cuts = quantiles(changes, n=10, method="inclusive") if len(changes) > 1 else changes * 9
    edges = [None, *EDGES, None]
    return Distribution(
        before=sum(pair.before for pair in known),
        after=sum(pair.after for pair in known),
        calls=len(known),
        tenth=cuts[0],
        median=cuts[4],
        ninetieth=cuts[8],
        buckets=[
            Bucket(least=least, most=most, calls=sum(_within(x, least, most) for x in changes))
            for least, most in pairwise(edges)
        ],
    )


def _within(value: float, least: float | None, most: float | None) -> bool:
    return (least is None or value >= least) and (most is None or value < most)
