"""Signals of the candidates of a search, each scaled to 0..1. `candidate_ranking` fuses them.

The candidates are the union of the nearest vectors (80), the best words (80), and the neighbours of
the first 20 of each list: entries that this search may return, joined by an edge of order inside a
run, or by another edge that is evidence. Every candidate has exact signals, whichever list it came
from.

A missing run, predecessor or vector does not lower the score of an entry (see `neighbour_evidence`
and `_compute_meaning`).

Signals are computed as columns of all candidates, because a search returns few of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kmapp.database.ids import IdText
from kmapp.search.bm25 import MAX_MASK_TERMS
from kmapp.search.neighbour_evidence import (
    Surroundings,
    compute_linked_evidence,
    compute_neighbour_evidence,
)
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

Column: TypeAlias = NDArray[np.float64]  # a number of each candidate
Mask: TypeAlias = NDArray[np.bool_]  # a flag of each candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class CosineScale:
    """A model's cosines of unrelated texts and of the best answers. Defaults are for e5-small."""

    low: float = 0.77
    high: float = 0.95

    def normalize(self, cosine: float) -> float:
        if cosine <= self.low:
            return 0.0
        return 1.0 if cosine >= self.high else (cosine - self.low) / (self.high - self.low)

    def normalize_column(self, cosines: Column) -> Column:
        return ((cosines - self.low) / (self.high - self.low)).clip(0, 1)


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SignalColumns:
    """The signals of all candidates of a query."""

    query: str
    without: frozenset[str]  # signals that these candidates do not have
    ids: Sequence[IdText]
    values: NDArray[np.float64]  # a row for each field of `Signals`, a column for each id
    has_vector: Mask  # without a vector, only the words of a candidate count
    meaning: float  # weight of meaning against words, of candidates with a vector


def compute_signals(
    query: Query,
    pool: Sequence[Candidate],
    scale: CosineScale = E5_SCALE,
    *,
    without: frozenset[str] = frozenset(),
) -> SignalColumns:
    """Return the signals of each candidate. Signals in `without` that are slow to compute are 0."""
    meaning = MEANING_WEIGHT + (CHINESE_MEANING_WEIGHT - MEANING_WEIGHT) * chinese_share(query.text)
    dense, context, has_vector = _compute_meaning(pool, scale)
    full_bm25 = FULL_LEXICAL_RATIO * sum(query.idf.values()) or inf  # no words: all signals are 0
    lexical = (_build_column(pool, "bm25") / full_bm25).clip(0, 1)
    weight = np.where(has_vector, meaning, 0.0)
    own: list[float] = (
        weight * ((1 - CONTEXT_SHARE) * dense + CONTEXT_SHARE * context) + (1 - weight) * lexical
    ).tolist()
    position = {each.id: number for number, each in enumerate(pool)}
    adjacency = [[position[n] for n in each.neighbours if n in position] for each in pool]
    surroundings = Surroundings(adjacency)
    neighbour_evidence = compute_neighbour_evidence(
        own=own, adjacency=adjacency, runs=[each.run for each in pool]
    )
    features = [compute_ranking_features(each.text) for each in pool]
    zeros: ArrayLike = np.zeros(len(pool))
    columns: Signals[ArrayLike] = Signals(
        dense=dense,
        context=context,
        lexical=lexical,
        window=_compute_window(query, pool, surroundings),
        similar=zeros
        if "similar" in without
        else compute_similar_coverage(
            query.text, query.idf, [each.words for each in features], surroundings
        ),
        near=neighbour_evidence.near,
        run=neighbour_evidence.run,
        # A text without query words does not begin with one, and parsing beginnings is slow.
        opening=[each.term_mask > 0 and find_first_term(each.text) in query.idf for each in pool],
        statement=1 - _build_column(pool, "is_question"),
        dated=[each.dated for each in features] if asks_for_time(query.text) else zeros,
        specific=[each.specific for each in features],
        concrete=[each.concrete for each in features],
        linked=[
            compute_linked_evidence(
                own, {position[n]: strength for n, strength in each.links.items() if n in position}
            )
            if each.links
            else 0.0
            for each in pool
        ],
        importance=_build_column(pool, "importance"),
        salience=_build_column(pool, "salience"),
        pinned=_build_column(pool, "pinned"),
        fresh=_build_column(pool, "fresh"),
    )
    return SignalColumns(
        query=query.text,
        without=without,
        ids=[each.id for each in pool],
        values=np.array(columns, np.float64),
        has_vector=has_vector,
        meaning=meaning,
    )


def _build_column(pool: Sequence[Candidate], field: str) -> Column:
    """Return a numeric field of each candidate, with NaN for None."""
    return np.array([*map(attrgetter(field), pool)], np.float64)


def _compute_meaning(pool: Sequence[Candidate], scale: CosineScale) -> tuple[Column, Column, Mask]:
    """Return the signals `dense` and `context`, and which candidates have a cosine.

    A missing cosine is replaced by the other. Without both, both signals are 0.
    """
    cosines, context_cosines = _build_column(pool, "cosine"), _build_column(pool, "context")
    cosines = np.where(np.isnan(cosines), context_cosines, cosines)
    context_cosines = np.where(np.isnan(context_cosines), cosines, context_cosines)
    has_cosine = ~np.isnan(cosines)
    dense = np.where(has_cosine, scale.normalize_column(cosines), 0.0)
    return dense, np.where(has_cosine, scale.normalize_column(context_cosines), 0.0), has_cosine


def _compute_window(
    query: Query, pool: Sequence[Candidate], surroundings: Surroundings
) -> list[float]:
    """Return the share of the query's idf in the terms of each entry and of two steps from it."""
    own_masks = np.array([each.term_mask for each in pool], np.int64)
    masks: list[int] = surroundings.combine(np.bitwise_or, own_masks, steps=2).tolist()
    idf = list(query.idf.values())
    total_idf = sum(idf) or 1.0
    shares = {
        mask: sum(value for bit, value in enumerate(idf[:MAX_MASK_TERMS]) if mask >> bit & 1)
        / total_idf
        for mask in set(masks)
    }
    return [shares[mask] for mask in masks]
