"""What stands around an entry lifts it; what stands alone loses nothing."""

from kmapp.search.neighbour_evidence import NeighbourEvidence, linked, spread, strength


def test_alone_an_entry_takes_its_own_evidence() -> None:
    assert spread([0.4], [[]], [""]) == [NeighbourEvidence(0.4, 0.4, 0.4)]


def test_the_best_neighbour_and_the_best_one_step_further_count() -> None:
    own = [0.1, 0.5, 0.2, 0.9]
    chain = [[1], [0, 2], [1, 3], [2]]
    first, second, *_ = spread(own, chain, [""] * 4)
    assert (first.near, first.far) == (0.5, 0.2)
    assert (second.near, second.far) == (0.2, 0.9)


def test_a_pair_has_nothing_one_step_further() -> None:
    assert spread([0.1, 0.5], [[1], [0]], ["", ""])[0] == NeighbourEvidence(0.5, 0.5, 0.1)


def test_the_best_of_a_run_counts_for_all_of_it() -> None:
    around = spread([0.1, 0.5, 0.9], [[], [], []], ["a", "a", "b"])
    assert [each.run for each in around] == [0.5, 0.5, 0.9]


def test_entries_without_a_run_are_no_run() -> None:
    assert [each.run for each in spread([0.1, 0.9], [[], []], ["", ""])] == [0.1, 0.9]


def test_a_circle_ends() -> None:
    assert spread([0.1, 0.5], [[1, 1], [0, 0]], ["a", "a"])[1] == NeighbourEvidence(0.1, 0.1, 0.5)


def test_the_strongest_evidence_comes_over_an_edge() -> None:
    assert linked([0.1, 0.5, 0.8], {1: 1.0, 2: 0.5}) == 0.5
    assert linked([0.1], {}) == 0.0


def test_an_edge_fades_while_it_is_not_used() -> None:
    assert strength(0.8, 0.5, 0.0, 1000) == 0.4
    assert strength(1.0, 1.0, 0.5, 2) == 0.25
    assert strength(1.0, 1.0, 1.0, 0) == 1.0
    assert strength(1.0, 1.0, 0.5, -1) == 1.0
