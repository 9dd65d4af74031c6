"""Spreading activation along edges, within budgets."""

from uuid import UUID

from memory.retrieval.spreading_activation import ACTIVATION_PER_HOP, Edge, Walk


def pk(number: int) -> UUID:
    return UUID(int=number)


def edge(src: int, dst: int, strength: float = 1.0) -> Edge:
    return Edge(pk(100 * src + dst), pk(src), pk(dst), "related_to", strength, strength)


def test_activation_decreases_per_step() -> None:
    edges = [edge(1, 2), edge(3, 2)]
    walk = Walk.from_seeds({pk(1): 0.8}, nodes=9, edges=9)
    assert walk.list_reachable(edges) == [pk(2)]
    walk.step(edges, {pk(2)})
    assert walk.activation == {pk(1): 0.8, pk(2): 0.8 * ACTIVATION_PER_HOP}
    walk.step(edges, {pk(3)})
    assert walk.activation[pk(3)] == 0.8 * ACTIVATION_PER_HOP * ACTIVATION_PER_HOP


def test_strongest_path_wins() -> None:
    walk = Walk.from_seeds({pk(1): 0.9, pk(2): 0.5}, nodes=9, edges=9)
    walk.step([edge(1, 3, 0.1), edge(2, 3, 1.0)], {pk(3)})
    assert walk.activation[pk(3)] == 0.5 * ACTIVATION_PER_HOP


def test_invisible_nodes_are_not_crossed() -> None:
    walk = Walk.from_seeds({pk(1): 0.9}, nodes=9, edges=9)
    edges = [edge(1, 2), edge(2, 3)]
    walk.step(edges, {pk(3)})
    walk.step(edges, {pk(3)})
    assert set(walk.activation) == {pk(1)}
    assert walk.edges == {}


def test_budgets_keep_the_strongest_nodes() -> None:
    edges = [edge(1, number, number / 100) for number in range(2, 50)]
    walk = Walk.from_seeds({pk(1): 1.0}, nodes=4, edges=2)
    walk.step(edges, {pk(number) for number in range(50)})
    assert set(walk.activation) == {pk(1), pk(49), pk(48), pk(47)}
    assert len(walk.edges) == 2


def test_excess_seeds_are_dropped() -> None:
    walk = Walk.from_seeds({pk(number): number / 10 for number in range(9)}, nodes=3, edges=9)
    assert set(walk.activation) == {pk(8), pk(7), pk(6)}


def test_cycle_terminates() -> None:
    edges = [edge(1, 2), edge(2, 1), edge(2, 3), edge(3, 1)]
    walk = Walk.from_seeds({pk(1): 1.0}, nodes=9, edges=9)
    for _ in range(5):
        walk.step(edges, {pk(1), pk(2), pk(3)})
    assert walk.activation[pk(1)] == 1.0
