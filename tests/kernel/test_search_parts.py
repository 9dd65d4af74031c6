"""Parts of the search: BM25, evidence of neighbours, a cache with expiry, a lookup by many ids."""

import math

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, ApiKey
from kmapp.database.ids import uuid7
from kmapp.runtime.in_process_caches import TtlCache
from kmapp.search import bm25
from kmapp.search.id_array_lookup import IdArray
from kmapp.search.neighbour_evidence import (
    compute_edge_strength,
    compute_linked_evidence,
    compute_neighbour_evidence,
)
from tests import makers

# --- BM25: the formula that SQL must reproduce ----------------------------------------------------


def test_rare_terms_have_a_higher_idf() -> None:
    assert bm25.idf(100, 1) == pytest.approx(math.log(1 + 99.5 / 1.5))
    assert bm25.idf(100, 0) > bm25.idf(100, 1) > bm25.idf(100, 50) > bm25.idf(100, 100) > 0


def test_weight_of_one_occurrence_in_an_average_document_is_one() -> None:
    assert bm25.weight(1, 10, 10.0) == pytest.approx(1.0)
    assert bm25.weight(0, 10, 10.0) == 0


def test_repetition_saturates() -> None:
    weights = [bm25.weight(n, 10, 10.0) for n in (1, 2, 3, 1000)]
    assert weights == sorted(weights)
    assert weights[1] - weights[0] > weights[2] - weights[1]
    assert weights[-1] < bm25.K1 + 1


def test_long_documents_weigh_less() -> None:
    assert bm25.weight(1, 40, 10.0) < bm25.weight(1, 10, 10.0) < bm25.weight(1, 5, 10.0)


def test_score_sums_over_the_distinct_terms_of_the_query() -> None:
    query = {"tea": 2.0, "china": 1.5, "absent": 3.0}
    expected = 2.0 * bm25.weight(2, 6, 8.0) + 1.5 * bm25.weight(1, 6, 8.0)
    assert bm25.score(query, {"tea": 2, "china": 1, "cup": 3}, 6, 8.0) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("frequencies", "kept"),
    [
        ({"redis": 3, "超时": 0, "代理": 0}, {"redis"}),
        ({"超时": 0}, set()),
        ({"redis": 0, "超时": 2, "代理": 0}, {"redis", "超时", "代理"}),
        ({"redis": 0, "timeout": 2}, {"redis", "timeout"}),
    ],
)
def test_terms_of_an_absent_language_are_dropped(
    frequencies: dict[str, int], kept: set[str]
) -> None:
    expected = {term: number for term, number in frequencies.items() if term in kept}
    assert bm25.drop_unknown_terms(frequencies) == expected


# --- Evidence of neighbours -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "edges", "runs", "place", "expected"),
    [
        ([0.4], [[]], [""], 0, (0.4, 0.4)),
        ([0.1, 0.5], [[1], [0]], ["", ""], 0, (0.5, 0.1)),
        ([0.1, 0.5], [[1, 1], [0, 0]], ["a", "a"], 1, (0.1, 0.5)),  # a cycle
    ],
)
def test_evidence_of_an_entry(
    own: list[float],
    edges: list[list[int]],
    runs: list[str],
    place: int,
    expected: tuple[float, float],
) -> None:
    evidence = compute_neighbour_evidence(own, edges, runs)
    assert (evidence.near[place], evidence.run[place]) == expected


def test_best_neighbour_adds_evidence() -> None:
    evidence = compute_neighbour_evidence(
        [0.1, 0.5, 0.2, 0.9], [[1], [0, 2], [1, 3], [2]], [""] * 4
    )
    assert evidence.near == [0.5, 0.2, 0.9, 0.2]


def test_best_of_a_run_adds_evidence_to_all_of_the_run() -> None:
    evidence = compute_neighbour_evidence([0.1, 0.5, 0.9], [[]] * 3, ["a", "a", "b"])
    assert evidence.run == [0.5, 0.5, 0.9]
    assert compute_neighbour_evidence([0.1, 0.9], [[]] * 2, ["", ""]).run == [0.1, 0.9]


def test_strongest_edge_evidence_is_used() -> None:
    assert compute_linked_evidence([0.1, 0.5, 0.8], {1: 1.0, 2: 0.5}) == 0.5
    assert compute_linked_evidence([0.1], {}) == 0.0


def test_unused_edge_decays() -> None:
    assert compute_edge_strength(0.8, 0.5, 0.0, 1000) == 0.4
    assert compute_edge_strength(1.0, 1.0, 0.5, 2) == 0.25
    assert compute_edge_strength(1.0, 1.0, 1.0, 0) == 1.0
    assert compute_edge_strength(1.0, 1.0, 0.5, -1) == 1.0


# --- The cache ------------------------------------------------------------------------------------


def test_value_is_cached_until_it_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("kmapp.runtime.in_process_caches.monotonic", lambda: now)
    figures: TtlCache[int] = TtlCache()
    assert figures.get("a") is None
    assert figures.put("a", 0, seconds=5) == 0
    assert figures.get("a") == 0
    now = 105.0
    assert figures.get("a") is None


def test_cache_is_bounded_and_can_be_cleared() -> None:
    figures: TtlCache[int] = TtlCache(max_entries=10)
    for number in range(95):
        figures.put(number, number, seconds=60)
    assert figures.get(94) == 94
    assert sum(figures.get(number) is not None for number in range(95)) <= 10
    figures.clear()
    assert figures.get(94) is None


# --- The lookup -----------------------------------------------------------------------------------


def test_any_of_matches_listed_ids_with_one_parameter(acme: Account) -> None:
    keys = [makers.key(acme)[0] for _ in range(3)]
    with acting(acme):
        rows = ApiKey.objects.filter(pk__any_of=IdArray([keys[0].pk, keys[2].pk, uuid7()]))
        assert set(rows) == {keys[0], keys[2]}
        assert not ApiKey.objects.filter(pk__any_of=IdArray([])).exists()
        assert ApiKey.objects.filter(account__any_of=IdArray([acme.pk])).count() == 3
    assert len(rows.query.sql_with_params()[1]) == 1
