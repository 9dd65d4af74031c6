"""Spreading: what the surroundings of a candidate say of it.

"Yes, in May" answers a question that stands in the entry before it. An entry is lifted by what
comes right before and after it, by what comes one step further, and by the best of its run.

An entry that stands alone takes its own evidence for all three. So a single fact competes with a
turn of a conversation on equal terms; with nothing in their place it would hardly ever be found.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID


class Around(NamedTuple):
    """The best evidence beside an entry, one step further, and anywhere in its run."""

    near: float
    far: float
    run: float


def spread(
    own: Mapping[UUID, float],
    neighbours: Mapping[UUID, Sequence[UUID]],
    runs: Mapping[UUID, str],
) -> dict[UUID, Around]:
    """The surroundings of everything in `own`. Neighbours that are not in it are ignored."""
    best_of_run: dict[str, float] = {}
    for each, run in runs.items():
        best_of_run[run] = max(own[each], best_of_run.get(run, 0.0))
    around = {}
    for each, evidence in own.items():
        beside = neighbours.get(each, ())
        beyond = (two for one in beside if one in own for two in neighbours.get(one, ()))
        near = _best(own, beside, evidence)
        far = _best(own, (two for two in beyond if two != each), near)
        around[each] = Around(near, far, best_of_run.get(runs.get(each, ""), evidence))
    return around


def _best(own: Mapping[UUID, float], others: Iterable[UUID], otherwise: float) -> float:
    return max((own[other] for other in others if other in own), default=otherwise)
