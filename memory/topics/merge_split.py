"""Suggestions to merge or split topics. Pure: numpy, no database.

Topics grow one memory at a time and growing never divides them. The graph of mutual neighbours
(memory.topics.clustering) as a whole may suggest other groups: by modularity (Newman & Girvan
2004), the measure that founds topics, two topics may be better as one, and one as two.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from memory.topics.clustering import NONE, SMALLEST, Graph, communities

# From where on a grouping says something; of a graph without groups it is seldom above.
SPLIT_FROM = 0.3
MERGE_FROM = 0.2  # of the smaller topic's connections lead to the other
LEAVING = 2 * SMALLEST  # members that a topic must have for each part to be one


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A topic with the one to merge it with, or with the items to split off."""

    topic: int
    other: int  # NONE for a split
    leaving: tuple[int, ...]
    score: float  # merge: share of the smaller one's connections; split: modularity


def suggestions(graph: Graph, topics: Sequence[int]) -> list[Suggestion]:
    """Return suggested merges and splits, highest score first, each topic once."""
    proposals = sorted(
        [*_merges(graph, topics), *_splits(graph, topics)],
        key=lambda each: (-each.score, each.topic, each.other),
    )
    used: set[int] = set()
    chosen = []
    for each in proposals:
        named = {each.topic, each.other} - {NONE}
        if not named & used:
            used |= named
            chosen.append(each)
    return chosen


def _merges(graph: Graph, topics: Sequence[int]) -> Iterator[Suggestion]:
    between: dict[tuple[int, int], float] = defaultdict(float)
    degree: dict[int, float] = defaultdict(float)
    whole = 0.0
    for item, row in enumerate(graph):
        for other, weight in row.items():
            whole += weight
            degree[topics[item]] += weight
            if NONE not in (topics[item], topics[other]) and topics[item] < topics[other]:
                between[topics[item], topics[other]] += weight
    for (one, two), weight in between.items():
        gained = weight / whole - degree[one] * degree[two] / whole**2
        share = weight / min(degree[one], degree[two])
        if gained > 0 and share >= MERGE_FROM:
            yield Suggestion(topic=one, other=two, leaving=(), score=share)


def _splits(graph: Graph, topics: Sequence[int]) -> Iterator[Suggestion]:
    members: dict[int, list[int]] = defaultdict(list)
    for item, topic in enumerate(topics):
        if topic != NONE:
            members[topic].append(item)
    for topic, items in sorted(members.items()):
        if len(items) < LEAVING:
            continue
        place = {item: number for number, item in enumerate(items)}
        inside = [
            {place[other]: weight for other, weight in graph[item].items() if other in place}
            for item in items
        ]
        labels = two_parts(inside, communities(inside))
        parts: dict[int, list[int]] = defaultdict(list)
        for number, label in enumerate(labels):
            parts[label].append(items[number])
        largest, *rest = sorted(parts.values(), key=lambda part: (-len(part), part))
        score = modularity(inside, labels)
        if rest and len(rest[0]) >= SMALLEST and len(largest) >= SMALLEST and score >= SPLIT_FROM:
            yield Suggestion(topic=topic, other=NONE, leaving=tuple(rest[0]), score=score)


def two_parts(graph: Graph, labels: Sequence[int]) -> list[int]:
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
        pairs = [(one, two) for place, one in enumerate(names) for two in names[place + 1 :]]
        first, second = max(
            pairs, key=lambda pair: between[pair] / (degree[pair[0]] * degree[pair[1]] or 1)
        )
        labels = [first if label == second else label for label in labels]
    return labels


def modularity(graph: Sequence[Mapping[int, float]], labels: Sequence[int]) -> float:
    """Return how much the share of edges inside the groups exceeds the expected one."""
    whole = sum(sum(row.values()) for row in graph)
    if not whole:
        return 0.0
    inside = 0.0
    degree: dict[int, float] = defaultdict(float)
    for node, row in enumerate(graph):
        for other, weight in row.items():
            degree[labels[node]] += weight
            inside += weight if labels[other] == labels[node] else 0.0
    return inside / whole - sum((each / whole) ** 2 for each in degree.values())
