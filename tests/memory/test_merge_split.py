"""Suggestions to merge or split topics, for graphs that clustering rarely builds."""

from collections.abc import Mapping
from itertools import combinations

from memory.topics.merge_split_suggestions import join_into_two_parts, list_suggestions
from tests.timing import assert_linear


def clique(*items: int) -> dict[int, dict[int, float]]:
    """Return items that are all neighbours of each other."""
    rows: dict[int, dict[int, float]] = {item: {} for item in items}
    for one, other in combinations(items, 2):
        rows[one][other] = rows[other][one] = 1.0
    return rows


def test_groups_without_neighbours_are_joined_in_linear_time() -> None:
    alone: list[Mapping[int, float]] = [{}]
    assert_linear(lambda size: join_into_two_parts(alone * size, range(size)), 100)
    assert join_into_two_parts(alone * 5, range(5)) == [0, 0, 0, 0, 4]


def test_connected_groups_are_joined_first() -> None:
    graph = {**clique(0, 1), **clique(2, 3), **clique(4, 5)}
    graph[3][4] = graph[4][3] = 0.5
    labels = join_into_two_parts([graph[item] for item in range(6)], [0, 0, 1, 1, 2, 2])
    assert labels == [0, 0, 1, 1, 1, 1]


def test_splits_that_are_not_requested_replace_no_merges() -> None:
    rows: dict[int, dict[int, float]] = {}
    for first in range(0, 27, 3):
        rows |= clique(first, first + 1, first + 2)
    rows[5][6] = rows[6][5] = 2.0
    graph = [rows[item] for item in range(27)]
    topics = [0] * 6 + [item // 3 - 1 for item in range(6, 27)]
    assert [each.leaving for each in list_suggestions(graph, topics)] == [(3, 4, 5)]
    [merge] = list_suggestions(graph, topics, with_splits=False)
    assert (merge.topic, merge.other, merge.leaving) == (0, 1, ())
