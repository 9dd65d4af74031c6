"""Synthetic vectors with the distribution of real ones."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

TOPICS = 400
# Squared, the shares of the common direction, of the topic, and of the text itself. So the cosines
# are like those of multilingual-e5-small: about .78 between any two texts, .88 within a topic.
COMMON, TOPIC, OWN = 0.78, 0.10, 0.12
# What a text says differs in far fewer ways than a vector has dimensions. If it did not, all texts
# of a topic would be about equally near, which no text is and no index can sort.
DIRECTIONS = 24

Vectors = NDArray[np.float32]


@dataclass
class Cloud:
    """Generator of vectors, and of queries near some of them."""

    dimensions: int
    rng: np.random.Generator
    _common: Vectors = field(init=False)
    _topics: Vectors = field(init=False)
    _directions: Vectors = field(init=False)

    def __post_init__(self) -> None:
        shape = np.random.default_rng(11)  # the same cloud in every run
        self._common = _unit(shape.standard_normal(self.dimensions))
        self._topics = _unit(shape.standard_normal((TOPICS, self.dimensions)))
        self._directions = _unit(shape.standard_normal((DIRECTIONS, self.dimensions)))

    def draw(self, number: int) -> Vectors:
        topics = self._topics[self.rng.integers(0, TOPICS, number)]
        own = _unit(self.rng.standard_normal((number, DIRECTIONS)) @ self._directions)
        mixed = COMMON**0.5 * self._common + TOPIC**0.5 * topics + OWN**0.5 * own
        return _unit(mixed)


def _unit(vectors: "NDArray[np.float64] | Vectors") -> Vectors:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / lengths, dtype=np.float32)
