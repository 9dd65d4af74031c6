"""Signals of the candidates of a search, each scaled to 0..1. `candidate_ranking` fuses them.

The candidates are the union of the nearest vectors (80), the best words (80), and the neighbours of
the first 20 of each list: entries that this search may return, joined by an edge of order inside a
run, or by another edge that is evidence. Every candidate has exact signals, whichever list it came
from.

A missing run, predecessor or vector does not lower the score of an entry (see `neighbour_evidence`
and `_build_evidence`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from kmapp.database.ids import IdText
from kmapp.search.bm25 import MAX_MASK_TERMS
from kmapp.search.neighbour_evidence import compute_linked_evidence, compute_neighbour_evidence
from kmapp.search.signal_weights import Signals
from kmapp.search.similar_word_coverage import compute_similar_coverage
from kmapp.text.query_independent_features import asks_for_time, compute_ranking_features
from kmapp.text.terms import chinese_share, find_first_term

# Weight of meaning against words. Word boundaries in Chinese are uncertain, so meaning weighs more.
MEANING_WEIGHT = 0.5
CHINESE_MEANING_WEIGHT = 0.85
CONTEXT_SHARE = 0.5  # share of the text with its predecessor in meaning, against the text alone

FULL_LEXICAL_RATIO = 1.5  # ratio of BM25 to the idf of all terms at which the lexical signal is 1
MAX_FEATURE_CHARACTERS = 400  # of the beginning of a text, from which its features are computed


@dataclass(frozen=True, slots=True, kw_only=True)
class CosineScale:
    """A model's cosines of unrelated texts and of the best answers. Defaults are for e5-small."""

    low: float = 0.77
    high: float = 0.95

    def normalize(self, cosine: float) -> float:
        if cosine <= self.low:
            return 0.0
        return 1.0 if cosine >= self.high else (cosine - self.low) / (self.high - self.low)


E5_SCALE = CosineScale()


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    text: str
    idf: Mapping[
        str, float
    ]  # of its terms; the place of a term is its bit in `Candidate.term_mask`


class Candidate(NamedTuple):
    """Raw signals of one object; the defaults mean that there is no such signal."""

    id: IdText
    cosine: float | None  # None: its vector is not ready
    bm25: float = 0.0
    term_mask: int = 0  # one bit for each term of the query
    context: float | None = None  # cosine of the vector made with the predecessor
    neighbours: Sequence[IdText] = ()
    links: Mapping[IdText, float] = MappingProxyType({})  # other edges: how strong, 0..1
    run: str = ""
    text: str = ""  # its beginning, after a separate speaker or heading
    is_question: bool = False  # the text ends in a question mark
    importance: float = 0.5
    salience: float = 0.5
    pinned: bool = False
    fresh: float = 1.0  # halves with each half-life


class _Evidence(NamedTuple):
    """A candidate's own evidence, each from 0 to 1, and the weight of its meaning."""

    dense: float
    context: float
    lexical: float
    meaning: float

    @property
    def total(self) -> float:
        meant = (1 - CONTEXT_SHARE) * self.dense + CONTEXT_SHARE * self.context
        return self.meaning * meant + (1 - self.meaning) * self.lexical


def compute_signals(
    query: Query,
    pool: Sequence[Candidate],
    scale: CosineScale = E5_SCALE,
    *,
    without: frozenset[str] = frozenset(),
) -> list[tuple[Signals, float]]:
    """Return the signals of each candidate and its weight of meaning.

    Signals in `without` that are slow to compute are 0.
    """
    meaning = MEANING_WEIGHT + (CHINESE_MEANING_WEIGHT - MEANING_WEIGHT) * chinese_share(query.text)
    idf_sum = sum(query.idf.values())
    evidence = [_build_evidence(each, idf_sum, meaning, scale) for each in pool]
    position = {each.id: number for number, each in enumerate(pool)}
    adjacency = [[position[n] for n in each.neighbours if n in position] for each in pool]
    own_totals = [each.total for each in evidence]
    neighbour_evidence = compute_neighbour_evidence(
        own=own_totals, adjacency=adjacency, runs=[each.run for each in pool]
    )
    coverage = _TermCoverage(list(query.idf.values()))
    masks = [each.term_mask for each in pool]
    similar = [0.0] * len(pool)
    if "similar" not in without:
        texts = [each.text for each in pool]
        similar = compute_similar_coverage(query.text, query.idf, texts, adjacency)
    needs_time = asks_for_time(query.text)
    values = []
    for number, (each, own_evidence, near) in enumerate(
        zip(pool, evidence, neighbour_evidence, strict=True)
    ):
        features = compute_ranking_features(each.text)
        links = {position[n]: strength for n, strength in each.links.items() if n in position}
        totals = Signals(
            dense=own_evidence.dense,
            context=own_evidence.context,
            lexical=own_evidence.lexical,
            window=coverage.share(_combine_window_masks(masks, adjacency, number)),
            similar=similar[number],
            near=near.near,
            run=near.run,
            # A text without query words does not begin with one, and parsing beginnings is slow.
            opening=float(each.term_mask > 0 and find_first_term(each.text) in query.idf),
            statement=float(not each.is_question),
            dated=features.dated if needs_time else 0.0,
            specific=features.specific,
            concrete=features.concrete,
            linked=compute_linked_evidence(own_totals, links) if links else 0.0,
            importance=each.importance,
            salience=each.salience,
            pinned=float(each.pinned),
            fresh=each.fresh,
        )
        values.append((totals, own_evidence.meaning))
    return values


def _build_evidence(
    candidate: Candidate, idf_sum: float, meaning: float, scale: CosineScale
) -> _Evidence:
    """Replace a missing cosine by the other; without both, only the words count."""
    lexical = min(1.0, candidate.bm25 / (FULL_LEXICAL_RATIO * idf_sum)) if idf_sum else 0.0
    cosine = candidate.context if candidate.cosine is None else candidate.cosine
    if cosine is None:
        return _Evidence(0.0, 0.0, lexical, 0.0)
    context_cosine = cosine if candidate.context is None else candidate.context
    return _Evidence(scale.normalize(cosine), scale.normalize(context_cosine), lexical, meaning)


def _combine_window_masks(
    masks: Sequence[int], adjacency: Sequence[Sequence[int]], number: int
) -> int:
    """Return the terms covered by an entry and its neighbours up to two steps away."""
    mask = masks[number]
    for neighbour in adjacency[number]:
        mask |= masks[neighbour]
        for second_neighbour in adjacency[neighbour]:
            mask |= masks[second_neighbour]
    return mask


class _TermCoverage:
    """The share of a query's idf in sets of its terms."""

    def __init__(self, idf: Sequence[float]) -> None:
        self.idf = idf[:MAX_MASK_TERMS]
        self.total_idf = sum(idf)
        self.weights: dict[int, float] = {0: 0.0}

    def share(self, mask: int) -> float:
        weights = self.weights.get(mask)
        if weights is None:
            pool = sum(idf for bit, idf in enumerate(self.idf) if mask >> bit & 1)
            weights = self.weights[mask] = pool / self.total_idf if self.total_idf else 0.0
        return weights
