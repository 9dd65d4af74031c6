"""Fusion of the signals of each candidate into one score on a fixed scale.

The candidates are the union of the nearest vectors (80), the best words (80), and the neighbours of
the first 20 of each list: entries joined by an edge of order inside a run that this search may
return. Every candidate has exact signals, whichever list it came from.

Each signal is scaled to 0..1 and weighted; the weights sum to 1, so a score is in 0..1 and is the
sum of its named parts. An entry does not lose by a missing run, predecessor or vector (see
`neighbour_evidence` and `_evidence`). No scale depends on other candidates, so a minimum score has
one meaning, in each language the same (see `bend`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from types import MappingProxyType
from typing import NamedTuple

from kmapp.database.ids import IdText
from kmapp.search.neighbour_evidence import linked, spread
from kmapp.search.weights import SHIPPED, Signals, Weights, weights_for
from kmapp.text.terms import chinese_share, opening
from kmapp.text.traits import asks_for_time, traits

# Weight of meaning against words. Word boundaries in Chinese are uncertain, so meaning weighs more.
MEANING = 0.5
MEANING_IN_CHINESE = 0.85
CONTEXT = 0.5  # share of the text with its predecessor in meaning, against the text alone

COVERED = 1.5  # ratio of BM25 to the idf of all terms at which the lexical signal is 1
ENGLISH = 0.54  # exponent at which medians of English and Chinese scores are equal
TEXT = 400  # characters at the beginning of a text that its traits are read from
TERMS = 60  # terms of a query that have a bit in `Candidate.holds`


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A model's cosines of unrelated texts and of the best answers. Defaults are for e5-small."""

    low: float = 0.77
    high: float = 0.95

    def of(self, cosine: float) -> float:
        if cosine <= self.low:
            return 0.0
        return 1.0 if cosine >= self.high else (cosine - self.low) / (self.high - self.low)


E5 = Scale()


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    text: str
    idf: Mapping[str, float]  # of its terms; the place of a term is its bit in `Candidate.holds`


class Candidate(NamedTuple):
    """Raw signals of one object; the defaults mean that there is no such signal."""

    id: IdText
    cosine: float | None  # None: its vector is not ready
    bm25: float = 0.0
    holds: int = 0  # one bit for each term of the query
    context: float | None = None  # cosine of the vector made with the predecessor
    neighbours: Sequence[IdText] = ()
    links: Mapping[IdText, float] = MappingProxyType({})  # other edges: how strong, 0..1
    run: str = ""
    text: str = ""  # its beginning, after a separate speaker or heading
    asks: bool = False  # the text ends in a question mark
    importance: float = 0.5
    salience: float = 0.5
    pinned: bool = False
    fresh: float = 1.0  # halves with each half-life


class Ranked(NamedTuple):
    id: IdText
    score: float  # on the scale of all languages
    plain: float  # the weighted sum itself
    values: Signals
    weights: Weights
    meaning: float  # its weight of meaning against words

    @property
    def parts(self) -> dict[str, float]:
        """Return the share of each signal, computed on access because few are displayed."""
        share = self.score / self.plain if self.plain else 1.0
        return {
            name: weight * value * share
            for name, weight, value in zip(
                Signals._fields, self.weights.of, self.values, strict=True
            )
            if weight is not None
        }


class _Evidence(NamedTuple):
    """A candidate's own evidence, each from 0 to 1, and the weight of its meaning."""

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
    learned: tuple[float, ...] = SHIPPED,
) -> list[Ranked]:
    """Return the candidates, best first; equal scores are in the order of their ids.

    `without` names signals that these candidates do not have; the others share their weight.
    """
    pool = list(candidates)
    power, ranked = bend(query.text), []
    for each, (values, meaning) in zip(pool, signals(query, pool, scale), strict=True):
        weights = weights_for(meaning, without, learned)
        ranked.append(_rank(each.id, values, meaning, weights, power))
    return sorted(ranked, key=_best_first)


def reweigh(
    query: str,
    ranked: Iterable[Ranked],
    learned: tuple[float, ...],
    without: frozenset[str] = frozenset(),
) -> list[Ranked]:
    """Return these results as `fuse` would with other weights."""
    power = bend(query)
    again = [
        _rank(
            each.id, each.values, each.meaning, weights_for(each.meaning, without, learned), power
        )
        for each in ranked
    ]
    return sorted(again, key=_best_first)


def _rank(id_: IdText, values: Signals, meaning: float, weights: Weights, power: float) -> Ranked:
    plain = sum(map(mul, weights.factors, values))
    return Ranked(id_, plain**power, plain, values, weights, meaning)


def _best_first(result: Ranked) -> tuple[float, IdText]:
    return -result.score, result.id


def bend(query: str) -> float:
    """Return the exponent that makes scores of queries in different languages comparable.

    A right answer to an English query scores lower than to the same query in Chinese: an English
    query seldom uses the words of its answer, and vectors of Chinese are closer together. The
    exponent raises scores of English queries; it changes neither 0 nor 1, and no order. `manage.py
    retrieval level` measures it on equal facts and queries in both languages.
    """
    return ENGLISH + (1 - ENGLISH) * chinese_share(query)


def signals(
    query: Query, pool: Sequence[Candidate], scale: Scale = E5
) -> list[tuple[Signals, float]]:
    """Return the signals of each candidate and its weight of meaning."""
    meaning = MEANING + (MEANING_IN_CHINESE - MEANING) * chinese_share(query.text)
    idf_sum = sum(query.idf.values())
    evidence = [_evidence(each, idf_sum, meaning, scale) for each in pool]
    position = {each.id: number for number, each in enumerate(pool)}
    adjacency = [[position[n] for n in each.neighbours if n in position] for each in pool]
    own = [each.total for each in evidence]
    neighbour_evidence = spread(own=own, adjacency=adjacency, runs=[each.run for each in pool])
    covered = _Coverage(list(query.idf.values()))
    masks = [each.holds for each in pool]
    needs_time = asks_for_time(query.text)
    values = []
    for number, (each, own_evidence, near) in enumerate(
        zip(pool, evidence, neighbour_evidence, strict=True)
    ):
        own_traits = traits(each.text)
        links = {position[n]: strength for n, strength in each.links.items() if n in position}
        totals = Signals(
            dense=own_evidence.dense,
            context=own_evidence.context,
            lexical=own_evidence.lexical,
            window=covered.share(_window(masks, adjacency, number)),
            near=near.near,
            run=near.run,
            # A text without query words does not begin with one, and parsing beginnings is slow.
            opening=float(each.holds > 0 and opening(each.text) in query.idf),
            statement=float(not each.asks),
            dated=own_traits.dated if needs_time else 0.0,
            specific=own_traits.specific,
            concrete=own_traits.concrete,
            linked=linked(own, links) if links else 0.0,
            importance=each.importance,
            salience=each.salience,
            pinned=float(each.pinned),
            fresh=each.fresh,
        )
        values.append((totals, own_evidence.meaning))
    return values


def _evidence(candidate: Candidate, idf_sum: float, meaning: float, scale: Scale) -> _Evidence:
    """Replace a missing cosine by the other; without both, only the words count."""
    words = min(1.0, candidate.bm25 / (COVERED * idf_sum)) if idf_sum else 0.0
    alone = candidate.context if candidate.cosine is None else candidate.cosine
    if alone is None:
        return _Evidence(0.0, 0.0, words, 0.0)
    read_on = alone if candidate.context is None else candidate.context
    return _Evidence(scale.of(alone), scale.of(read_on), words, meaning)


def _window(masks: Sequence[int], adjacency: Sequence[Sequence[int]], number: int) -> int:
    """Return the terms covered by an entry and its neighbours up to two steps away."""
    mask = masks[number]
    for one in adjacency[number]:
        mask |= masks[one]
        for two in adjacency[one]:
            mask |= masks[two]
    return mask


class _Coverage:
    """The share of a query's idf in sets of its terms."""

    def __init__(self, idf: Sequence[float]) -> None:
        self.idf = idf[:TERMS]
        self.whole = sum(idf)
        self.weights: dict[int, float] = {0: 0.0}

    def share(self, mask: int) -> float:
        weights = self.weights.get(mask)
        if weights is None:
            pool = sum(idf for bit, idf in enumerate(self.idf) if mask >> bit & 1)
            weights = self.weights[mask] = pool / self.whole if self.whole else 0.0
        return weights
