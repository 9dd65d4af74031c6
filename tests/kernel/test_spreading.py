"""What stands around an entry lifts it; what stands alone loses nothing."""

from kmapp.search.neighbour_evidence import NeighbourEvidence, linked, spread, strength


def test_single_entry_uses_its_own_evidence() -> None:
    assert spread([0.4], [[]], [""]) == [NeighbourEvidence(0.4, 0.4, 0.4)]


def test_best_first_and_second_degree_neighbours_add_evidence() -> None:
    own = [0.1, 0.5, 0.2, 0.9]
    chain = [[1], [0, 2], [1, 3], [2]]
    first, second, *_ = spread(own, chain, [""] * 4)
    assert (first.near, first.far) == (0.5, 0.2)
    assert (second.near, second.far) == (0.2, 0.9)


def test_pair_has_no_second_degree_neighbour() -> None:
    assert spread([0.1, 0.5], [[1], [0]], ["", ""])[0] == NeighbourEvidence(0.5, 0.5, 0.1)


def test_best_of_a_run_adds_evidence_to_all() -> None:
    around = spread([0.1, 0.5, 0.9], [[], [], []], ["a", "a", "b"])
    assert [each.run for each in around] == [0.5, 0.5, 0.9]


def test_entries_without_a_run_are_not_grouped() -> None:
    assert [each.run for each in spread([0.1, 0.9], [[], []], ["", ""])] == [0.1, 0.9]


def test_cyclic_edges_terminate() -> None:
    assert spread([0.1, 0.5], [[1, 1], [0, 0]], ["a", "a"])[1] == NeighbourEvidence(0.1, 0.1, 0.5)


def test_strongest_edge_evidence_is_used() -> None:
    assert linked([0.1, 0.5, 0.8], {1: 1.0, 2: 0.5}) == 0.5
    assert linked([0.1], {}) == 0.0


def test_unused_edge_decays() -> None:
    assert strength(0.8, 0.5, 0.0, 1000) == 0.4
    assert strength(1.0, 1.0, 0.5, 2) == 0.25
    assert strength(1.0, 1.0, 1.0, 0) == 1.0
    assert strength(1.0, 1.0, 0.5, -1) == 1.0
