"""Two-dimensional projection of vectors. Pure: numpy."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from memory.topics.clustering import Vectors, remove_common_component

WIDTH, HEIGHT = 720, 420
MARGIN = 24  # free space around the points


class Point(NamedTuple):
    x: int
    y: int


def project(vectors: Vectors) -> list[Point]:
    """Return the point of each vector: its first two principal components, scaled to the map.

    Their signs are arbitrary; they are fixed, so that the same vectors give the same map.
    """
    if len(vectors) == 0:
        return []
    centred = remove_common_component(vectors)
    centred = centred - centred.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    flat = centred @ directions[:2].T
    if flat.shape[1] == 1:
        flat = np.hstack([flat, np.zeros_like(flat)])
    strongest = flat[np.abs(flat).argmax(axis=0), [0, 1]]
    flat = flat * np.where(strongest < 0, -1, 1)
    return [
        Point(x, y)
        for x, y in zip(_scale_to(flat[:, 0], WIDTH), _scale_to(flat[:, 1], HEIGHT), strict=True)
    ]


def _scale_to(values: Vectors, width: int) -> Sequence[int]:
    low, high = float(values.min()), float(values.max())
    if high - low < 1e-6:  # noqa: PLR2004 - all in one place
        return [width // 2] * len(values)
    scaled = MARGIN + (values - low) / (high - low) * (width - 2 * MARGIN)
    return [int(value) for value in np.rint(scaled)]
