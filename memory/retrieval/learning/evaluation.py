"""Evaluation of two rankings on the same questions, with intervals of the difference."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from kmapp.database.ids import IdText

DEPTH = 10
MEASURES = ("R@10", "hit@10", "MRR")
RESAMPLES = 2_000
INTERVAL = (2.5, 97.5)  # percentiles
DECIMALS = 4


Outcome = tuple[float, float, float]  # measures of one question, in the order of `MEASURES`


def measure_ranking(ids: Sequence[IdText], relevant: Collection[IdText]) -> Outcome:
    places = [place for place, each in enumerate(ids, 1) if each in relevant]
    first_ten = sum(place <= DEPTH for place in places)
    best = 1 / places[0] if places else 0.0
    return first_ten / len(relevant), float(first_ten > 0), best


def compare(before: Sequence[Outcome], after: Sequence[Outcome]) -> dict[str, Any]:
    """Return the means of both, and the paired difference with its 95 % bootstrap interval."""
    old, new = np.array(before), np.array(after)
    differences = new - old
    chosen = np.random.default_rng(0).integers(0, len(old), (RESAMPLES, len(old)))
    low, high = np.percentile(differences[chosen].mean(axis=1), INTERVAL, axis=0)
    columns = zip(MEASURES, old.mean(0), new.mean(0), differences.mean(0), low, high, strict=True)
    names = ("before", "after", "difference", "low", "high")
    return {
        measure: {
            name: round(float(value), DECIMALS) for name, value in zip(names, values, strict=True)
        }
        for measure, *values in columns
    }


def is_better(compared: Mapping[str, Mapping[str, float]]) -> bool:
    """Return whether recall is better, or equal and the first relevant result is further up."""
    recall, rank = compared["R@10"]["difference"], compared["MRR"]["difference"]
    return recall > 0 or (recall == 0 and rank > 0)


def is_certain(compared: Mapping[str, Mapping[str, float]]) -> bool:
    """Return whether the interval of the difference in recall is above 0."""
    return compared["R@10"]["low"] > 0
