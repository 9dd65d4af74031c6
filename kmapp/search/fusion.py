"""Fusion: from what the indexes say of each candidate to one score that means the same everywhere.

The caller hands over the union of the lists (nearest vectors, best words) with both raw signals
computed exactly for every candidate. Each signal is put on a fixed scale from 0 to 1 and given a
weight; the weights sum to 1, so a score lies in 0..1 and is the sum of its named parts. Nothing
depends on the other candidates: a minimum score means one thing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from kmapp.text import chinese_share


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The cosines a model gives to unrelated text (low) and to the best answers (high)."""

    low: float = 0.77
    high: float = 0.93

    def of(self, cosine: float) -> float:
        return min(1.0, max(0.0, (cosine - self.low) / (self.high - self.low)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What fusion must know of the question: its text, and the sum of its terms' idf."""

    text: str
    idf_sum: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Raw signals of one object. A cosine of None: its vector is not ready."""

    id: UUID
    cosine: float | None
    bm25: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A candidate with its score and the parts that sum to it."""

    id: UUID
    score: float
    parts: dict[str, float]


def fuse(query: Query, candidates: Iterable[Candidate], scale: Scale = Scale()) -> list[Ranked]:
    """The candidates, best first; equal scores in the order of their ids."""
    dense = 0.5 + 0.25 * chinese_share(query.text)
    ranked = []
    for candidate in candidates:
        parts = {
            "dense": dense * scale.of(candidate.cosine) if candidate.cosine is not None else 0.0,
            "lexical": (1 - dense) * _lexical(candidate.bm25),
        }
        ranked.append(Ranked(id=candidate.id, score=sum(parts.values()), parts=parts))
    return sorted(ranked, key=lambda result: (-result.score, result.id))


def _lexical(bm25: float) -> float:
    return bm25 / (bm25 + 10.0)
