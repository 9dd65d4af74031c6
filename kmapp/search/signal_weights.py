"""Weights of the signals: learned, or set by hand. Pure."""

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

# Learned by `make tune`; the file also has the data sets and the results on unseen data.
LEARNED_WEIGHTS: Mapping[str, float] = json.loads(
    Path(__file__).with_name("weights.json").read_text(encoding="utf-8")
)["weights"]
SHIPPED_WEIGHTS = tuple(
    LEARNED_WEIGHTS.values()
)  # an account's ranking has others, in the same order
# Set by hand and small, because there are no labelled data: they order equally good candidates.
MANUAL_WEIGHTS: Mapping[str, float] = {
    "linked": 0.03,  # edges other than those of the run
    "importance": 0.02,
    "salience": 0.03,  # changed by feedback
    "pinned": 0.02,
    "fresh": 0.02,  # by its half-life, if it has one
}
_LEARNED_SHARE = 1 - 1e-9 - sum(MANUAL_WEIGHTS.values())  # rounding must not exceed 1
MEANING_SIGNALS = ("dense", "context")
WORD_SIGNALS = ("lexical", "window", "similar")
MAX_CACHED_WEIGHTS = 3_600  # combinations
T = TypeVar("T")


class Signals(NamedTuple, Generic[T]):
    """The scaled signals, each from 0 to 1: numbers of one candidate, or columns of many."""

    dense: T
    context: T
    lexical: T
    window: T
    similar: T
    near: T
    run: T
    opening: T
    statement: T
    dated: T
    specific: T
    concrete: T
    linked: T
    importance: T
    salience: T
    pinned: T
    fresh: T


class Weights(NamedTuple):
    """The weights of the signals in their order; None for a signal that is left out."""

    by_signal: tuple[float | None, ...]
    factors: tuple[float, ...]  # the same, with 0 for None


@lru_cache(maxsize=MAX_CACHED_WEIGHTS)
def build_weights(meaning: float, without: frozenset[str], learned: tuple[float, ...]) -> Weights:
    """Return the weights for this share of dense signals. They sum to 1."""
    shared = {
        name: weight * compute_balance(name, meaning)
        for name, weight in zip(LEARNED_WEIGHTS, learned, strict=True)
        if name not in without
    }
    total = sum(shared.values()) / _LEARNED_SHARE
    named = {**{name: weight / total for name, weight in shared.items()}, **MANUAL_WEIGHTS}
    by_signal = tuple(named.get(name) for name in Signals._fields)
    return Weights(by_signal, tuple(weight or 0.0 for weight in by_signal))


def compute_balance(name: str, meaning: float) -> float:
    """Return the factor of a signal at this weight of meaning against words."""
    if name in MEANING_SIGNALS:
        return meaning
    return 1 - meaning if name in WORD_SIGNALS else 1.0
