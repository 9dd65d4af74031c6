"""Clustering of memories into topics. Pure: numpy, deterministic.

Vectors of one model are close together whatever the texts are, so their common component is removed
first. Two memories are neighbours if each is among the nearest of the other, so that a few common
texts cannot connect everything. A text has few words, so its vector is mixed with those of its
neighbours before the final neighbours are found. New topics are the communities of that graph.
Later memories join the topic that most of their neighbours are in.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

MAX_NEIGHBOURS = 10
DENSITY_NEIGHBOURS = 10  # nearest items, by which the density around an item is measured
MIN_NEIGHBOURS = 3  # neighbours of an item if there are few items
# Vectors that are needed to estimate their common component, and to smooth them.
MIN_SMOOTHED_VECTORS = 50
MIN_TOPIC_SIZE = 3  # memories that make a topic
# Shares of its neighbours, by weight, that must be in the topic that a memory founds or joins.
MIN_FOUNDING_SHARE = 0.8
MIN_FOUNDING_SHARE_OF_FEW = 0.58  # fewer memories than `MIN_SMOOTHED_VECTORS` have fewer neighbours
MIN_JOINING_SHARE = 0.5
NEIGHBOUR_SHARE = 0.4  # share of its neighbours in a vector
MAX_ROUNDS = 20
BLOCK_ROWS = 1_000

Vectors: TypeAlias = NDArray[np.float32]
Graph: TypeAlias = Sequence[Mapping[int, float]]
NO_TOPIC = -1


def build_neighbour_graph(vectors: Vectors) -> Graph:
    """Return the neighbour graph for `assign_topics`. Time is quadratic in the number of items."""
    if len(vectors) < MIN_SMOOTHED_VECTORS:
        return find_mutual_neighbours(remove_common_component(vectors)) if len(vectors) else []
    return find_mutual_neighbours(mix_with_neighbours(remove_common_component(vectors)))


def assign_topics(graph: Graph, topics: Sequence[int]) -> list[int]:
    """Assign topics to items without one where their neighbours allow it; others keep theirs.

    Return the topic of each item, or NO_TOPIC; numbers above those of `topics` are new. A second
    call with the result of the first changes nothing.
    """
    assigned = list(topics)
    for _ in range(MAX_ROUNDS):
        joined = _join_topics(graph, assigned)
        created = _create_topics(graph, assigned)
        if not joined and not created:
            break
    return assigned


def remove_common_component(vectors: Vectors) -> Vectors:
    """Return the vectors without their mean, each of length one.

    Of fewer than MIN_SMOOTHED_VECTORS, the mean is their common subject, so it remains.
    """
    rest = vectors - vectors.mean(axis=0) if len(vectors) >= MIN_SMOOTHED_VECTORS else vectors
    lengths = np.linalg.norm(rest, axis=1, keepdims=True)
    return np.asarray(rest / np.maximum(lengths, 1e-9), dtype=np.float32)


def mix_with_neighbours(vectors: Vectors) -> Vectors:
    """Return each vector mixed with the mean of its neighbours, of length one."""
    mixed = vectors.copy()
    for item, row in enumerate(find_mutual_neighbours(vectors)):
        if row:
            weights = np.array(list(row.values()), dtype=np.float32)
            mean = weights @ vectors[list(row)] / weights.sum()
            mixed[item] = (1 - NEIGHBOUR_SHARE) * vectors[item] + NEIGHBOUR_SHARE * mean
    lengths = np.linalg.norm(mixed, axis=1, keepdims=True)
    return np.asarray(mixed / np.maximum(lengths, 1e-9), dtype=np.float32)


def find_mutual_neighbours(vectors: Vectors) -> Graph:
    """Return for each item the neighbours that also have it among theirs, with weights.

    Similarity is relative to the density around both items, so that no text is close to all others.
    The weight is the share of neighbours in common, because cosines hardly vary.
    """
    max_neighbours = min(MAX_NEIGHBOURS, max(MIN_NEIGHBOURS, len(vectors) // 4))
    density = _compute_density(vectors)
    nearest: list[frozenset[int]] = []
    for start, similarities in _iterate_similarities(vectors):
        relative = (
            2 * similarities - density[start : start + len(similarities), None] - density[None, :]
        )
        best = np.argsort(-relative, axis=1, kind="stable")[:, :max_neighbours]
        nearest += [
            frozenset(int(other) for other in others if similarities[row, other] > 0)
            for row, others in enumerate(best)
        ]
    return [
        {
            other: _compute_overlap(own, nearest[other])
            for other in sorted(own)
            if item in nearest[other]
        }
        for item, own in enumerate(nearest)
    ]


def _compute_density(vectors: Vectors) -> Vectors:
    """Return the mean cosine of each item with its nearest neighbours."""
    neighbour_count = min(DENSITY_NEIGHBOURS, len(vectors) - 1)
    if neighbour_count < 1:
        return np.zeros(len(vectors), dtype=np.float32)
    means = [
        np.sort(similarities, axis=1)[:, -neighbour_count:].mean(axis=1)
        for _, similarities in _iterate_similarities(vectors)
    ]
    return np.concatenate(means)


def _iterate_similarities(vectors: Vectors) -> Iterator[tuple[int, Vectors]]:
    """Yield cosines of items with all items, in blocks; an item is not its own neighbour."""
    for start in range(0, len(vectors), BLOCK_ROWS):
        similarities = vectors[start : start + BLOCK_ROWS] @ vectors.T
        similarities[
            np.arange(len(similarities)), np.arange(start, start + len(similarities))
        ] = -np.inf
        yield start, similarities


def _compute_overlap(one: frozenset[int], other: frozenset[int]) -> float:
    return (len(one & other) + 1) / (len(one | other) + 1)


def _join_topics(graph: Graph, topics: list[int]) -> int:
    """Let items join the topic that most of their neighbours are in. Changes `topics`."""
    joined = 0
    for item, similarities in enumerate(graph):
        if topics[item] != NO_TOPIC or not similarities:
            continue
        votes: dict[int, float] = defaultdict(float)
        for other, weight in similarities.items():
            votes[topics[other]] += weight
        total = sum(votes.values())
        votes.pop(NO_TOPIC, None)
        best = max(votes, key=lambda topic: (votes[topic], -topic), default=NO_TOPIC)
        if best != NO_TOPIC and votes[best] > MIN_JOINING_SHARE * total:
            topics[item] = best
            joined += 1
    return joined


def _create_topics(graph: Graph, topics: list[int]) -> int:
    """Create topics from the communities among unassigned items. Changes `topics`."""
    free = [item for item, topic in enumerate(topics) if topic == NO_TOPIC]
    numbers = {item: number for number, item in enumerate(free)}
    free_graph = [
        {numbers[other]: weight for other, weight in graph[item].items() if other in numbers}
        for item in free
    ]
    members: dict[int, list[int]] = defaultdict(list)
    for number, community in enumerate(find_communities(free_graph)):
        members[community].append(free[number])
    number, created = max(topics, default=NO_TOPIC) + 1, 0
    for group in sorted(members.values()):
        core = _select_core(graph, group)
        if len(core) >= MIN_TOPIC_SIZE:
            for item in core:
                topics[item] = number + created
            created += 1
    return created


def _select_core(graph: Graph, group: Sequence[int]) -> list[int]:
    """Return the members without those that are connected more strongly with others."""
    members = frozenset(group)
    share = MIN_FOUNDING_SHARE if len(graph) >= MIN_SMOOTHED_VECTORS else MIN_FOUNDING_SHARE_OF_FEW
    return [
        item
        for item in group
        if sum(weight for other, weight in graph[item].items() if other in members)
        > share * sum(graph[item].values())
    ]


def find_communities(graph: Graph) -> list[int]:
    """Return the community of each node by Louvain's method, in node order."""
    community_of_node = list(range(len(graph)))
    level: list[dict[int, float]] = [dict(similarities) for similarities in graph]
    while True:
        labels = _move_nodes(level)
        names = {label: number for number, label in enumerate(sorted(set(labels)))}
        if len(names) == len(level):
            return community_of_node
        community_of_node = [names[labels[node]] for node in community_of_node]
        merged: list[dict[int, float]] = [defaultdict(float) for _ in names]
        for node, similarities in enumerate(level):
            for other, weight in similarities.items():
                merged[names[labels[node]]][names[labels[other]]] += weight
        level = [dict(similarities) for similarities in merged]


def _move_nodes(level: Sequence[Mapping[int, float]]) -> list[int]:
    """Return the labels after nodes move to the community that adds most to modularity."""
    degrees = [sum(similarities.values()) for similarities in level]
    total_weight = sum(degrees) or 1.0
    labels = list(range(len(level)))
    degree_of_community = list(degrees)
    for _ in range(MAX_ROUNDS):
        has_moved = False
        for node, similarities in enumerate(level):
            own = labels[node]
            degree_of_community[own] -= degrees[node]
            weight_to: dict[int, float] = defaultdict(float)
            for other, weight in similarities.items():
                if other != node:
                    weight_to[labels[other]] += weight
            gain = {
                label: weight_to[label] - degrees[node] * degree_of_community[label] / total_weight
                for label in weight_to
            }
            gain_of_staying = gain.get(
                own, -degrees[node] * degree_of_community[own] / total_weight
            )
            best = max(gain, key=lambda label: (gain[label], -label), default=own)
            if best != own and gain[best] > gain_of_staying + 1e-12:
                labels[node], has_moved = best, True
            degree_of_community[labels[node]] += degrees[node]
        if not has_moved:
            break
    return labels


def compute_adjusted_rand_index(one: Sequence[Any], other: Sequence[Any]) -> float:
    """Return the adjusted Rand index of two groupings: 1 if equal, about 0 by chance."""
    pairs_in_both, pairs_in_one, pairs_in_other = (
        sum(count * (count - 1) / 2 for count in table.values())
        for table in (Counter(zip(one, other, strict=True)), Counter(one), Counter(other))
    )
    chance = pairs_in_one * pairs_in_other / max(len(one) * (len(one) - 1) / 2, 1)
    maximum = (pairs_in_one + pairs_in_other) / 2
    return 1.0 if maximum == chance else (pairs_in_both - chance) / (maximum - chance)
