"""Fusion of the signals of each candidate into one score on a fixed scale.

The caller delivers, for one question:

- `Query`: the text, and the idf of its distinct terms, unknown terms included.
- the candidates: the union of the nearest vectors (80), the best words (80), and the neighbours
  of the first 20 of each list. Neighbours are entries joined by an edge of order inside a run,
  as far as this search may return them.
- for every candidate, exactly and whichever list it came from: the cosine of its text (its best
  part), the cosine of its text read together with its predecessor, its BM25, which of the query's
  terms it holds, the ids of its neighbours, its run, how its text begins, its size, and whether it
  ends in a question mark; other edges, and what people and agents think of it.

What there is not, is left out: an entry without a run, a predecessor or a vector loses nothing by
it (see `spreading`, and `_evidence`). Each signal is put on a fixed scale from 0 to 1 and weighted;
the weights sum to 1, so a score lies in 0..1 and is the sum of its named parts; see `level` for how
it means the same in each language. Only surroundings look at other candidates; no scale depends on
them, so a minimum score means one thing.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from kmapp.database.ids import IdText
from kmapp.search.neighbour_evidence import linked, spread
from kmapp.search.score_calibration import bend
from kmapp.text.terms import chinese_share, opening

# Learned by `make tune`; the file says from what, and how well they did on what they had not seen.
LEARNED: Mapping[str, float] = json.loads(
    Path(__file__).with_name("weights.json").read_text(encoding="utf-8")
)["weights"]
# Set by hand, small: no labelled data say how much they matter. They part what is equally good.
BY_HAND: Mapping[str, float] = {
    "linked": 0.03,  # what it hangs together with, beside its neighbours in the run
    "importance": 0.02,
    "salience": 0.03,  # moved by feedback
    "pinned": 0.02,
    "fresh": 0.02,  # by its half-life, if it has one
}
_SHARE = 1 - 1e-9 - sum(BY_HAND.values())  # rounding must not lead past 1
MEANT = ("dense", "context")
WORDED = ("lexical", "covered", "window")

# Meaning against words. The words of a Chinese text are cut by guesswork, so meaning counts more.
MEANING = 0.5
MEANING_IN_CHINESE = 0.85
CONTEXT = 0.5  # of meaning: the text read with its predecessor, against the text alone

COVERED = 1.5  # BM25 over the idf of all terms at which the words of a question are fully found
SUBSTANCE = 700  # bytes of a text from which it is no longer the fuller the longer it is
_FULL = math.log1p(SUBSTANCE)
TERMS = 60  # of a query, whose presence is told one by one


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The cosines that a model gives to texts far apart and to the best answers.

    They belong to the model: cosines of multilingual-e5-small hardly ever leave this range.
    """

    low: float = 0.77
    high: float = 0.95

    def of(self, cosine: float) -> float:
        if cosine <= self.low:
            return 0.0
        return 1.0 if cosine >= self.high else (cosine - self.low) / (self.high - self.low)


E5 = Scale()


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What fusion must know of the question."""

    text: str
    idf: Mapping[str, float]  # of its terms; the place of a term is its bit in `Candidate.holds`


class Candidate(NamedTuple):
    """Raw signals of one object; the defaults say that there is no such signal."""

    id: IdText
    cosine: float | None  # None: its vector is not ready
    bm25: float = 0.0
    holds: int = 0  # one bit for each term of the query
    context: float | None = None  # cosine of the vector made with the predecessor
    neighbours: Sequence[IdText] = ()
    links: Mapping[IdText, float] = MappingProxyType({})  # other edges: how strong, 0..1
    run: str = ""
    head: str = ""  # how the text begins; a speaker kept apart from the text comes first
    size: int = 0  # bytes
    asks: bool = False  # the text ends in a question mark
    importance: float = 0.5
    salience: float = 0.5
    pinned: bool = False
    fresh: float = 1.0  # halves with each half-life


class Signals(NamedTuple):
    """What speaks for a candidate, each from 0 to 1."""

    dense: float
    context: float
    lexical: float
    covered: float
    window: float
    near: float
    far: float
    run: float
    opening: float
    statement: float
    substance: float
    linked: float
    importance: float
    salience: float
    pinned: float
    fresh: float


class Weights(NamedTuple):
    """What each signal counts, in their order; None is for what is left out."""

    of: tuple[float | None, ...]
    factors: tuple[float, ...]  # the same, with 0 for None


class Ranked(NamedTuple):
    """A candidate with its score, and what it is the sum of."""

    id: IdText
    score: float  # on the scale of all languages
    plain: float  # the weighted sum itself
    values: Signals
    weights: Weights

    @property
    def parts(self) -> dict[str, float]:
        """Made where they are asked for: of hundreds of candidates a few are shown."""
        share = self.score / self.plain if self.plain else 1.0
        return {
            name: weight * value * share
            for name, weight, value in zip(
                Signals._fields, self.weights.of, self.values, strict=True
            )
            if weight is not None
        }


class _Evidence(NamedTuple):
    """What a candidate itself says, each from 0 to 1, and how much its meaning counts of it."""

    dense: float
    context: float
    lexical: float
    meaning: float

    @property
    def total(self) -> float:
        meant = (1 - CONTEXT) * self.dense + CONTEXT * self.context
        return self.meaning * meant + (1 - self.meaning) * self.lexical


def fuse(
    query: Query,
    candidates: Iterable[Candidate],
    scale: Scale = E5,
    *,
    without: frozenset[str] = frozenset(),
) -> list[Ranked]:
    """Return the candidates, best first; equal scores are in the order of their ids.

    `without` names signals that these candidates do not have; the others share their weight.
    """
    pool = list(candidates)
    ranked, power = [], bend(query.text)
    for each, (values, meaning) in zip(pool, signals(query, pool, scale), strict=True):
        weights = _weights(meaning, without)
        plain = sum(map(mul, weights.factors, values))
        ranked.append(Ranked(each.id, plain**power, plain, values, weights))
    return sorted(ranked, key=lambda result: (-result.score, result.id))


_weights_cache: dict[tuple[float, frozenset[str]], Weights] = {}


def _weights(meaning: float, without: frozenset[str] = frozenset()) -> Weights:
    """Return the weights for this share of dense signals. They sum to 1."""
    weights = _weights_cache.get((meaning, without))
    if weights is None:
        if len(_weights_cache) > TERMS * TERMS:
            _weights_cache.clear()
        shared = {
            name: weight * balance(name, meaning)
            for name, weight in LEARNED.items()
            if name not in without
        }
        whole = sum(shared.values()) / _SHARE
        learned = {**{name: weight / whole for name, weight in shared.items()}, **BY_HAND}
        of = tuple(learned.get(name) for name in Signals._fields)
        weights = Weights(of, tuple(weight or 0.0 for weight in of))
        _weights_cache[meaning, without] = weights
    return weights


def balance(name: str, meaning: float) -> float:
    """How much a signal counts when meaning counts so much beside words."""
    if name in MEANT:
        return meaning
    return 1 - meaning if name in WORDED else 1.0


def signals(
    query: Query, pool: Sequence[Candidate], scale: Scale = E5
) -> list[tuple[Signals, float]]:
    """Every signal of each candidate from 0 to 1, and how much meaning counts for it."""
    meaning = MEANING + (MEANING_IN_CHINESE - MEANING) * chinese_share(query.text)
    idf_sum = sum(query.idf.values())
    evidence = [_evidence(each, idf_sum, meaning, scale) for each in pool]
    position = {each.id: number for number, each in enumerate(pool)}
    adjacency = [[position[n] for n in each.neighbours if n in position] for each in pool]
    own = [each.total for each in evidence]
    neighbour_evidence = spread(own=own, adjacency=adjacency, runs=[each.run for each in pool])
    covered = _Coverage(list(query.idf.values()))
    masks = [each.holds for each in pool]
    values = []
    for number, (each, own_evidence, near) in enumerate(
        zip(pool, evidence, neighbour_evidence, strict=True)
    ):
        links = {position[n]: held for n, held in each.links.items() if n in position}
        totals = Signals(
            dense=own_evidence.dense,
            context=own_evidence.context,
            lexical=own_evidence.lexical,
            covered=covered.share(each.holds),
            window=covered.share(_window(masks, adjacency, number)),
            near=near.near,
            far=near.far,
            run=near.run,
            # What holds none of the words does not open with one: reading heads takes long.
            opening=float(each.holds > 0 and opening(each.head) in query.idf),
            statement=float(not each.asks),
            substance=min(1.0, math.log1p(each.size) / _FULL),
            linked=linked(own, links) if links else 0.0,
            importance=each.importance,
            salience=each.salience,
            pinned=float(each.pinned),
            fresh=each.fresh,
        )
        values.append((totals, own_evidence.meaning))
    return values


def _evidence(candidate: Candidate, idf_sum: float, meaning: float, scale: Scale) -> _Evidence:
    """Both cosines stand in for each other; without any, the words alone decide."""
    words = min(1.0, candidate.bm25 / (COVERED * idf_sum)) if idf_sum else 0.0
    alone = candidate.context if candidate.cosine is None else candidate.cosine
    if alone is None:
        return _Evidence(0.0, 0.0, words, 0.0)
    read_on = alone if candidate.context is None else candidate.context
    return _Evidence(scale.of(alone), scale.of(read_on), words, meaning)


def _window(masks: Sequence[int], adjacency: Sequence[Sequence[int]], number: int) -> int:
    """Return the terms covered by an entry and its neighbours up to two steps away."""
    held = masks[number]
    for one in adjacency[number]:
        held |= masks[one]
        for two in adjacency[one]:
            held |= masks[two]
    return held


class _Coverage:
    """How much of a query's idf sets of its terms hold."""

    def __init__(self, idf: Sequence[float]) -> None:
        self.idf = idf[:TERMS]
        self.whole = sum(idf)
        self.weights: dict[int, float] = {0: 0.0}

    def share(self, held: int) -> float:
        weights = self.weights.get(held)
        if weights is None:
            pool = sum(idf for bit, idf in enumerate(self.idf) if held >> bit & 1)
            weights = self.weights[held] = pool / self.whole if self.whole else 0.0
        return weights
