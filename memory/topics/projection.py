"""Two-dimensional projection of vectors. Pure: numpy."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from memory.topics.clustering import Vectors, centred

WIDTH, HEIGHT = 720, 420
EDGE = 24  # that stays free around the points


class Point(NamedTuple):
    x: int
    y: int


def placed(vectors: Vectors) -> list[Point]:
    """Where each vector is drawn: its first two principal components, filling the picture.

    Their signs are arbitrary; they are fixed, so that the same vectors give the same map.
    """
    if len(vectors) == 0:
        return []
    rest = centred(vectors)
    rest = rest - rest.mean(axis=0)
    _, _, directions = np.linalg.svd(rest, full_matrices=False)
    flat = rest @ directions[:2].T
    if flat.shape[1] == 1:
        flat = np.hstack([flat, np.zeros_like(flat)])
    strongest = flat[np.abs(flat).argmax(axis=0), [0, 1]]
    flat = flat * np.where(strongest < 0, -1, 1)
    return [
        Point(x, y)
        for x, y in zip(_spread(flat[:, 0], WIDTH), _spread(flat[:, 1], HEIGHT), strict=True)
    ]


def _spread(values: Vectors, room: int) -> Sequence[int]:
    low, high = float(values.min()), float(values.max())
    if high - low < 1e-6:  # noqa: PLR2004 - all in one place
        return [room // 2] * len(values)
    scaled = EDGE + (values - low) / (high - low) * (room - 2 * EDGE)
    return [int(value) for value in np.rint(scaled)]
