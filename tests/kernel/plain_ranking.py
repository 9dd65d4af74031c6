"""Ranking of one candidate after the other, as a reference for the columns of the product."""

from collections.abc import Collection, Sequence
from functools import reduce
from operator import add, mul

import numpy as np

from kmapp.search.bm25 import MAX_MASK_TERMS
from kmapp.search.candidate_ranking import RankedCandidate, compute_language_exponent
from kmapp.search.candidate_signals import (
    CHINESE_MEANING_WEIGHT,
    CONTEXT_SHARE,
    E5_SCALE,
    FULL_LEXICAL_RATIO,
    MEANING_WEIGHT,
    Candidate,
    Query,
)
from kmapp.search.signal_weights import SHIPPED_WEIGHTS, Signals, build_weights
from kmapp.search.similar_word_coverage import MIN_SIMILARITY, STEPS
from kmapp.text.query_independent_features import asks_for_time, compute_ranking_features
from kmapp.text.terms import chinese_share, extract_terms, find_first_term
from kmapp.text.word_vectors import compare_words


def rank_one_by_one(
    query: Query,
    pool: Sequence[Candidate],
    without: frozenset[str] = frozenset(),
    learned: tuple[float, ...] = SHIPPED_WEIGHTS,
) -> list[RankedCandidate]:
    plain, ranked = PlainSignals(query, pool, without), []
    for number, each in enumerate(pool):
        weights = build_weights(plain.meanings[number], without, learned)
        values = plain.compute(number)
        unscaled_score = reduce(add, map(mul, weights.factors, values))
        score = unscaled_score ** compute_language_exponent(query.text)
        ranked.append(RankedCandidate(each.id, score, unscaled_score, values, weights))
    return sorted(ranked, key=lambda result: (-result.score, result.id))


class PlainSignals:
    """The signals of each candidate, and its weight of meaning against words."""

    def __init__(self, query: Query, pool: Sequence[Candidate], without: Collection[str]) -> None:
        self.query, self.pool, self.without = query, pool, without
        share = chinese_share(query.text)
        meaning = MEANING_WEIGHT + (CHINESE_MEANING_WEIGHT - MEANING_WEIGHT) * share
        self.numbers = {each.id: number for number, each in enumerate(pool)}
        self.meanings = [
            0.0 if each.cosine is None and each.context is None else meaning for each in pool
        ]
        self.own = [self._own(number) for number in range(len(pool))]

    def compute(self, number: int) -> Signals[float]:
        candidate = self.pool[number]
        own, linked = self.own[number], [0.0]
        for other, strength in candidate.links.items():
            if other in self.numbers:
                linked.append(self.own[self.numbers[other]] * strength)
        run = [
            evidence
            for each, evidence in zip(self.pool, self.own, strict=True)
            if candidate.run and each.run == candidate.run
        ]
        neighbours = self._list_neighbours(number)
        features = compute_ranking_features(candidate.text)
        dense, context = self._meaning(number)
        return Signals(
            dense=dense,
            context=context,
            lexical=self._lexical(number),
            window=self._window(number),
            similar=0.0 if "similar" in self.without else self._similar(number),
            near=max([self.own[other] for other in neighbours], default=own),
            run=max(run, default=own),
            opening=float(
                candidate.term_mask > 0 and find_first_term(candidate.text) in self.query.idf
            ),
            statement=float(not candidate.is_question),
            dated=features.dated if asks_for_time(self.query.text) else 0.0,
            specific=features.specific,
            concrete=features.concrete,
            linked=max(linked),
            importance=candidate.importance,
            salience=candidate.salience,
            pinned=float(candidate.pinned),
            fresh=candidate.fresh,
        )

    def _meaning(self, number: int) -> tuple[float, float]:
        candidate = self.pool[number]
        cosine = candidate.context if candidate.cosine is None else candidate.cosine
        context = cosine if candidate.context is None else candidate.context
        if cosine is None or context is None:
            return 0.0, 0.0
        return E5_SCALE.normalize(cosine), E5_SCALE.normalize(context)

    def _lexical(self, number: int) -> float:
        full = FULL_LEXICAL_RATIO * sum(self.query.idf.values())
        return min(1.0, self.pool[number].bm25 / full) if full else 0.0

    def _own(self, number: int) -> float:
        (dense, context), meaning = self._meaning(number), self.meanings[number]
        cosine = (1 - CONTEXT_SHARE) * dense + CONTEXT_SHARE * context
        return meaning * cosine + (1 - meaning) * self._lexical(number)

    def _list_neighbours(self, number: int) -> list[int]:
        return [self.numbers[n] for n in self.pool[number].neighbours if n in self.numbers]

    def _reach(self, number: int, steps: int) -> set[int]:
        reached = {number}
        for _ in range(steps):
            reached |= {other for each in reached for other in self._list_neighbours(each)}
        return reached

    def _window(self, number: int) -> float:
        rarities, masks = list(self.query.idf.values()), self._reach(number, 2)
        covered = [
            rarity
            for bit, rarity in enumerate(rarities[:MAX_MASK_TERMS])
            if any(self.pool[each].term_mask >> bit & 1 for each in masks)
        ]
        return sum(covered) / sum(rarities) if sum(rarities) else 0.0

    def _similar(self, number: int) -> float:
        rarest = dict(list(self.query.idf.items())[:MAX_MASK_TERMS])
        weights = {
            word: rarest[term]
            for word in compute_ranking_features(self.query.text).words
            for term in extract_terms(word)
            if rarest.get(term)
        }
        if not weights:
            return 0.0
        texts = [
            compute_ranking_features(self.pool[n].text).words for n in self._reach(number, STEPS)
        ]
        nearest = compare_words(list(weights), texts).max(axis=0)
        covered = ((nearest - MIN_SIMILARITY) / (1 - MIN_SIMILARITY)).clip(0, 1)
        rarities = np.array(list(weights.values()))
        return float((covered * rarities).sum() / rarities.sum())
