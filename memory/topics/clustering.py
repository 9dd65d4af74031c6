"""Clustering of memories into topics. Pure: numpy, deterministic.

Vectors of one model are close together whatever the texts are, so their common component is removed
first. Two memories are neighbours if each is among the nearest of the other, so that a few common
texts cannot connect everything. A text has few words, so its vector is mixed with those of its
neighbours before the final neighbours are found. New topics are the communities of that graph.
Later memories join the topic that most of their neighbours are in.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

NEIGHBOURS = 10
NEIGHBOURHOOD = 10  # nearest items, by which the density around an item is measured
FEWEST = 3  # neighbours of an item if there are few items
ENOUGH = 50  # vectors that are needed to estimate their common component, and to smooth them
SMALLEST = 3  # memories that make a topic
# Shares of its neighbours, by weight, that must be in the topic that a memory founds or joins.
FOUNDING = 0.8
FOUNDING_OF_FEW = 0.58  # fewer memories than `ENOUGH` have fewer neighbours
JOINING = 0.5
SMOOTHING = 0.4  # share of its neighbours in a vector
ROUNDS = 20
BLOCK = 1_000

Vectors: TypeAlias = NDArray[np.float32]
Graph: TypeAlias = Sequence[Mapping[int, float]]
NONE = -1


@dataclass(frozen=True, slots=True)
class Grown:
    """The topic of each item, or NONE; topics from `known` on are new."""

    topics: list[int]
    topic_count: int


def neighbours(vectors: Vectors) -> Graph:
    """Return the neighbour graph for `grow`. The time is quadratic in the number of items."""
    if len(vectors) < ENOUGH:
        return mutual_neighbours(centred(vectors)) if len(vectors) else []
    return mutual_neighbours(smoothed(centred(vectors)))


def grow(graph: Graph, topics: Sequence[int]) -> Grown:
    """Give items without a topic one, where they belong; those that have one keep it.

    A second call with what the first returned changes nothing.
    """
    topic_count = max(topics, default=NONE) + 1
    now = list(topics)
    for _ in range(ROUNDS):
        joined = _join(graph, now)
        founded = _create_topics(graph, now)
        if not joined and not founded:
            break
    return Grown(topics=now, topic_count=topic_count)


def centred(vectors: Vectors) -> Vectors:
    """Without what all of them have in common, each of length one.

    The mean of a few texts about one thing is that thing: it is left to them.
    """
    rest = vectors - vectors.mean(axis=0) if len(vectors) >= ENOUGH else vectors
    lengths = np.linalg.norm(rest, axis=1, keepdims=True)
    return np.asarray(rest / np.maximum(lengths, 1e-9), dtype=np.float32)


def smoothed(vectors: Vectors) -> Vectors:
    """Return each vector mixed with the mean of its neighbours, of length one."""
    mixed = vectors.copy()
    for item, row in enumerate(mutual_neighbours(vectors)):
        if row:
            weights = np.array(list(row.values()), dtype=np.float32)
            mean = weights @ vectors[list(row)] / weights.sum()
            mixed[item] = (1 - SMOOTHING) * vectors[item] + SMOOTHING * mean
    lengths = np.linalg.norm(mixed, axis=1, keepdims=True)
    return np.asarray(mixed / np.maximum(lengths, 1e-9), dtype=np.float32)


def mutual_neighbours(vectors: Vectors) -> Graph:
    """For each item those of its nearest that have it among theirs, and how much they share.

    Nearness is told against how near others are anyway, so that no text is near to everything; two
    neighbours count by the neighbours they have in common, not by a cosine that hardly varies.
    """
    most = min(NEIGHBOURS, max(FEWEST, len(vectors) // 4))
    crowd = _crowding(vectors)
    nearest: list[frozenset[int]] = []
    for start, similarities in _blocks(vectors):
        apart = 2 * similarities - crowd[start : start + len(similarities), None] - crowd[None, :]
        best = np.argsort(-apart, axis=1, kind="stable")[:, :most]
        nearest += [
            frozenset(int(other) for other in others if similarities[row, other] > 0)
            for row, others in enumerate(best)
        ]
    return [
        {other: _shared(mine, nearest[other]) for other in sorted(mine) if item in nearest[other]}
        for item, mine in enumerate(nearest)
    ]


def _crowding(vectors: Vectors) -> Vectors:
    """Return the mean cosine of each item with its nearest neighbours."""
    few = min(NEIGHBOURHOOD, len(vectors) - 1)
    if few < 1:
        return np.zeros(len(vectors), dtype=np.float32)
    means = [
        np.sort(similarities, axis=1)[:, -few:].mean(axis=1) for _, similarities in _blocks(vectors)
    ]
    return np.concatenate(means)


def _blocks(vectors: Vectors) -> Iterator[tuple[int, Vectors]]:
    """Yield cosines of items with all items, in blocks; an item is not its own neighbour."""
    for start in range(0, len(vectors), BLOCK):
        similarities = vectors[start : start + BLOCK] @ vectors.T
        similarities[
            np.arange(len(similarities)), np.arange(start, start + len(similarities))
        ] = -np.inf
        yield start, similarities


def _shared(mine: frozenset[int], other: frozenset[int]) -> float:
    return (len(mine & other) + 1) / (len(mine | other) + 1)


def _join(graph: Graph, topics: list[int]) -> int:
    """Let items join the topic that most of their neighbours are in. Changes `topics`."""
    joined = 0
    for item, similarities in enumerate(graph):
        if topics[item] != NONE or not similarities:
            continue
        votes: dict[int, float] = defaultdict(float)
        for other, weight in similarities.items():
            votes[topics[other]] += weight
        whole = sum(votes.values())
        votes.pop(NONE, None)
        best = max(votes, key=lambda topic: (votes[topic], -topic), default=NONE)
        if best != NONE and votes[best] > JOINING * whole:
            topics[item] = best
            joined += 1
    return joined


def _create_topics(graph: Graph, topics: list[int]) -> int:
    """Create topics from the communities among unassigned items. Changes `topics`."""
    free = [item for item, topic in enumerate(topics) if topic == NONE]
    place = {item: number for number, item in enumerate(free)}
    among = [
        {place[other]: weight for other, weight in graph[item].items() if other in place}
        for item in free
    ]
    members: dict[int, list[int]] = defaultdict(list)
    for number, community in enumerate(communities(among)):
        members[community].append(free[number])
    number, founded = max(topics, default=NONE) + 1, 0
    for group in sorted(members.values()):
        core = _core(graph, group)
        if len(core) >= SMALLEST:
            for item in core:
                topics[item] = number + founded
            founded += 1
    return founded


def _core(graph: Graph, group: Sequence[int]) -> list[int]:
    """Return the members without those that are connected more strongly with others."""
    inside, share = frozenset(group), FOUNDING if len(graph) >= ENOUGH else FOUNDING_OF_FEW
    return [
        item
        for item in group
        if sum(weight for other, weight in graph[item].items() if other in inside)
        > share * sum(graph[item].values())
    ]


def communities(graph: Graph) -> list[int]:
    """Return the community of each node by Louvain's method, in node order."""
    of = list(range(len(graph)))
    level: list[dict[int, float]] = [dict(similarities) for similarities in graph]
    while True:
        labels = _moved(level)
        names = {label: number for number, label in enumerate(sorted(set(labels)))}
        if len(names) == len(level):
            return of
        of = [names[labels[node]] for node in of]
        merged: list[dict[int, float]] = [defaultdict(float) for _ in names]
        for node, similarities in enumerate(level):
            for other, weight in similarities.items():
                merged[names[labels[node]]][names[labels[other]]] += weight
        level = [dict(similarities) for similarities in merged]


def _moved(level: Sequence[Mapping[int, float]]) -> list[int]:
    """Return the labels after nodes move to the community that adds most to modularity."""
    degrees = [sum(similarities.values()) for similarities in level]
    whole = sum(degrees) or 1.0
    labels = list(range(len(level)))
    total = list(degrees)
    for _ in range(ROUNDS):
        moved = False
        for node, similarities in enumerate(level):
            own = labels[node]
            total[own] -= degrees[node]
            to: dict[int, float] = defaultdict(float)
            for other, weight in similarities.items():
                if other != node:
                    to[labels[other]] += weight
            gain = {label: to[label] - degrees[node] * total[label] / whole for label in to}
            stay = gain.get(own, -degrees[node] * total[own] / whole)
            best = max(gain, key=lambda label: (gain[label], -label), default=own)
            if best != own and gain[best] > stay + 1e-12:
                labels[node], moved = best, True
            total[labels[node]] += degrees[node]
        if not moved:
            break
    return labels


def agreement(one: Sequence[Any], other: Sequence[Any]) -> float:
    """Return the adjusted Rand index of two groupings: 1 if equal, about 0 by chance."""
    together: dict[tuple[Any, Any], int] = defaultdict(int)
    first: dict[Any, int] = defaultdict(int)
    second: dict[Any, int] = defaultdict(int)
    for a, b in zip(one, other, strict=True):
        together[a, b] += 1
        first[a] += 1
        second[b] += 1
    both, alone, outer = (
        sum(count * (count - 1) / 2 for count in table.values())
        for table in (together, first, second)
    )
    chance = alone * outer / max(len(one) * (len(one) - 1) / 2, 1)
    best = (alone + outer) / 2
    return 1.0 if best == chance else (both - chance) / (best - chance)
