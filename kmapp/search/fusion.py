"""Fusion: from what the indexes say of each candidate to one score that means the same everywhere.

The caller delivers, for one question:

- `Query`: the text, and the sum of the idf of its distinct terms, unknown terms included.
- the candidates: the union of the nearest vectors (100), the best words (100), and the neighbours
  of the first 30 of each list. Neighbours are entries joined by an edge of order inside a run,
  as far as this search may return them.
- for every candidate, exactly and whichever list it came from: the cosine of its text (its best
  part), the cosine of its text read together with its predecessor, its BM25, the ids of its
  neighbours, its run, the first 64 characters of its text, and whether it ends in a question mark.

What there is not, is left out: an entry without a run, a predecessor or a vector loses nothing by
it (see `spreading`, and `_evidence`). Each signal is put on a fixed scale from 0 to 1 and weighted;
the weights sum to 1, so a score lies in 0..1 and is the sum of its named parts. Only neighbours
and run look at other candidates; no scale depends on them, so a minimum score means one thing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from kmapp.search.spreading import spread
from kmapp.text import chinese_share, opening, terms

# The weights, set by hand and rounded. Measured on five long English conversations (744 questions)
# and 150 Chinese questions over web passages: recall changes by less than a hundredth when any of
# them moves by a quarter, and weights learned on four conversations find no more among the first
# ten of the fifth.
OWN = 0.45  # what the entry itself says: meaning and words
NEAR = 0.16  # its neighbours
FAR = 0.09  # one step further
RUN = 0.23  # the best of its run
OPENING = 0.035  # it begins with a word of the question: mostly the one who speaks or is spoken of
STATEMENT = 0.035  # it does not ask: questions are rarely answers

# Meaning against words. The words of a Chinese text are cut by guesswork, so meaning counts more.
MEANING = 0.5
MEANING_IN_CHINESE = 0.72
CONTEXT = 0.5  # of meaning: the text read with its predecessor, against the text alone

COVERED = 1.5  # BM25 over the idf of all terms at which the words of a question are fully found


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The cosines that a model gives to texts far apart and to the best answers.

    They belong to the model: cosines of multilingual-e5-small hardly ever leave this range.
    """

    low: float = 0.77
    high: float = 0.95

    def of(self, cosine: float) -> float:
        return min(1.0, max(0.0, (cosine - self.low) / (self.high - self.low)))


E5 = Scale()


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What fusion must know of the question."""

    text: str
    idf_sum: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Raw signals of one object; the defaults say that there is no such signal."""

    id: UUID
    cosine: float | None  # None: its vector is not ready
    bm25: float = 0.0
    context: float | None = None  # cosine of the vector made with the predecessor
    neighbours: Sequence[UUID] = ()
    run: str = ""
    head: str = ""  # how the text begins; a speaker kept apart from the text comes first
    asks: bool = False  # the text ends in a question mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A candidate with its score and the parts that sum to it."""

    id: UUID
    score: float
    parts: dict[str, float]


class _Evidence(NamedTuple):
    """What a candidate itself says, in parts that sum to at most 1."""

    dense: float
    context: float
    lexical: float


def fuse(query: Query, candidates: Iterable[Candidate], scale: Scale = E5) -> list[Ranked]:
    """The candidates, best first; equal scores in the order of their ids."""
    found = list(candidates)
    asked = frozenset(terms(query.text))
    meaning = MEANING + (MEANING_IN_CHINESE - MEANING) * chinese_share(query.text)
    evidence = [_evidence(each, query.idf_sum, meaning, scale) for each in found]
    position = {each.id: number for number, each in enumerate(found)}
    around = spread(
        own=[sum(says) for says in evidence],
        beside=[[position[n] for n in each.neighbours if n in position] for each in found],
        runs=[each.run for each in found],
    )
    ranked = []
    for each, says, beside in zip(found, evidence, around, strict=True):
        parts = {
            "dense": OWN * says.dense,
            "context": OWN * says.context,
            "lexical": OWN * says.lexical,
            "near": NEAR * beside.near,
            "far": FAR * beside.far,
            "run": RUN * beside.run,
            "opening": OPENING * (opening(each.head) in asked),
            "statement": STATEMENT * (not each.asks),
        }
        ranked.append(Ranked(id=each.id, score=sum(parts.values()), parts=parts))
    return sorted(ranked, key=lambda result: (-result.score, result.id))


def _evidence(candidate: Candidate, idf_sum: float, meaning: float, scale: Scale) -> _Evidence:
    """Both cosines stand in for each other; without any, the words alone decide."""
    words = min(1.0, candidate.bm25 / (COVERED * idf_sum)) if idf_sum else 0.0
    alone = candidate.context if candidate.cosine is None else candidate.cosine
    if alone is None:
        return _Evidence(0.0, 0.0, words)
    read_on = alone if candidate.context is None else candidate.context
    return _Evidence(
        meaning * (1 - CONTEXT) * scale.of(alone),
        meaning * CONTEXT * scale.of(read_on),
        (1 - meaning) * words,
    )
