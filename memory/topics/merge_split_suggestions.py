"""Suggestions to merge or split topics. Pure: numpy, no database.

Topics grow one memory at a time and growing never divides them. The graph of mutual neighbours
(memory.topics.clustering) as a whole may suggest other groups: modularity (Newman & Girvan 2004),
by which new topics are found, may be higher with two topics merged or with one divided.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from memory.topics.clustering import MIN_TOPIC_SIZE, NO_TOPIC, Graph, find_communities

# Modularity of a graph without groups is seldom higher.
MIN_SPLIT_MODULARITY = 0.3
MIN_MERGE_SHARE = 0.2  # share of the smaller topic's connections that must lead to the other
MIN_SPLIT_SIZE = 2 * MIN_TOPIC_SIZE  # members that a topic must have for each part to be one


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A topic with the one to merge it with, or with the items to split off."""

    topic: int
    other: int  # NO_TOPIC for a split
    leaving: tuple[int, ...]
    score: float  # merge: share of the smaller one's connections; split: modularity


def list_suggestions(
    graph: Graph, topics: Sequence[int], *, with_splits: bool = True
) -> list[Suggestion]:
    """Return suggested merges and splits, highest score first, each topic once.

    A split needs all members of the topic.
    """
    splits = _list_splits(graph, topics) if with_splits else ()
    proposals = sorted(
        [*_list_merges(graph, topics), *splits],
        key=lambda each: (-each.score, each.topic, each.other),
    )
    used_topics: set[int] = set()
    chosen = []
    for each in proposals:
        topic_pair = {each.topic, each.other} - {NO_TOPIC}
        if not topic_pair & used_topics:
            used_topics |= topic_pair
            chosen.append(each)
    return chosen


def _list_merges(graph: Graph, topics: Sequence[int]) -> Iterator[Suggestion]:
    between: dict[tuple[int, int], float] = defaultdict(float)
    degree: dict[int, float] = defaultdict(float)
    total_weight = 0.0
    for item, row in enumerate(graph):
        for other, weight in row.items():
            total_weight += weight
            degree[topics[item]] += weight
            if NO_TOPIC not in (topics[item], topics[other]) and topics[item] < topics[other]:
                between[topics[item], topics[other]] += weight
    for (one, two), weight in between.items():
        gain = weight / total_weight - degree[one] * degree[two] / total_weight**2
        share = weight / min(degree[one], degree[two])
        if gain > 0 and share >= MIN_MERGE_SHARE:
            yield Suggestion(topic=one, other=two, leaving=(), score=share)


def _list_splits(graph: Graph, topics: Sequence[int]) -> Iterator[Suggestion]:
    members: dict[int, list[int]] = defaultdict(list)
    for item, topic in enumerate(topics):
        if topic != NO_TOPIC:
            members[topic].append(item)
    for topic, items in sorted(members.items()):
        if len(items) < MIN_SPLIT_SIZE:
            continue
        numbers = {item: number for number, item in enumerate(items)}
        topic_graph = [
            {numbers[other]: weight for other, weight in graph[item].items() if other in numbers}
            for item in items
        ]
        labels = join_into_two_parts(topic_graph, find_communities(topic_graph))
        parts: dict[int, list[int]] = defaultdict(list)
        for number, label in enumerate(labels):
            parts[label].append(items[number])
        largest, *rest = sorted(parts.values(), key=lambda part: (-len(part), part))
        score = compute_modularity(topic_graph, labels)
        if (
            rest
            and len(rest[0]) >= MIN_TOPIC_SIZE
            and len(largest) >= MIN_TOPIC_SIZE
            and score >= MIN_SPLIT_MODULARITY
        ):
            yield Suggestion(topic=topic, other=NO_TOPIC, leaving=tuple(rest[0]), score=score)


def join_into_two_parts(graph: Graph, labels: Sequence[int]) -> list[int]:
    """Return the labels after the most strongly connected groups are joined until two are left."""
    labels = list(labels)
    while len(names := sorted(set(labels))) > 2:  # noqa: PLR2004 - a pair
        between: dict[tuple[int, int], float] = defaultdict(float)
        degree: dict[int, float] = defaultdict(float)
        for node, row in enumerate(graph):
            for other, weight in row.items():
                degree[labels[node]] += weight
                if labels[node] < labels[other]:
                    between[labels[node], labels[other]] += weight
        if not between:  # A topic may have hundreds of members without neighbours in it.
            return [label if label == names[-1] else names[0] for label in labels]
        first, second = max(
            sorted(between), key=lambda pair: between[pair] / (degree[pair[0]] * degree[pair[1]])
        )
        labels = [first if label == second else label for label in labels]
    return labels


def compute_modularity(graph: Sequence[Mapping[int, float]], labels: Sequence[int]) -> float:
    """Return how much the share of edges inside the groups exceeds the expected one."""
    total_weight = sum(sum(row.values()) for row in graph)
    if not total_weight:
        return 0.0
    inside = 0.0
    degree: dict[int, float] = defaultdict(float)
    for node, row in enumerate(graph):
        for other, weight in row.items():
            degree[labels[node]] += weight
            inside += weight if labels[other] == labels[node] else 0.0
    return inside / total_weight - sum((each / total_weight) ** 2 for each in degree.values())
