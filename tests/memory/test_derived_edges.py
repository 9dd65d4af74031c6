"""Edges that workers derive from similar texts and from mentioned names."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.db import connection
from django.db.models.functions import Now

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.outbox.deliver import deliver_due, paused_until
from kmapp.outbox.models import Delivery
from kmapp.providers.active_models import active_model
from kmapp.search import nearest_search, scan_method_choice
from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.batch_nearest_search import find_nearest_of_each
from memory.actions import review
from memory.actions.derived_edges import MAX_INCOMING, MAX_RELATED, derive_edges, load_meanings
from memory.actions.review import Decision
from memory.actions.settings import update_policy
from memory.models import MemoryEdge, MemoryEntry
from memory.models.entries import COLLECTION
from memory.topics.entity_name_matcher import build_name_matcher
from tests import makers
from tests.agent import Agent


def write(agent: Agent, *texts: str, **more: Any) -> list[str]:
    nodes = [{"text": text, **more} for text in texts]
    written = agent.post("memory/write", {"nodes": nodes}, 201)
    makers.settle()
    return [node["id"] for node in written["nodes"]]


def edges(account: Account, kind: str) -> list[tuple[str, str]]:
    with acting(account):
        rows = MemoryEdge.objects.filter(type=kind).select_related("src", "dst")
        return sorted((row.src.content, row.dst.content) for row in rows)


def rows(account: Account) -> list[Mapping[str, Any]]:
    with acting(account):
        return list(MemoryEdge.objects.order_by("pk").values())


def pairs_of(account: Account, kind: str) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in edges(account, kind)}


ANN = {"user_id": "ann"}
TRAIN = ("Ann takes the train to Ostrey on Mondays.", "On Mondays Ann goes to Ostrey by train.")


def test_similar_memories_are_linked_once(agent: Agent, acme: Account) -> None:
    ids = write(agent, *TRAIN, "The recipe needs two eggs and some flour.", **ANN)
    related = edges(acme, "related_to")
    assert frozenset(TRAIN) in pairs_of(acme, "related_to")
    assert len(related) == len(pairs_of(acme, "related_to"))  # never both ways
    before = rows(acme)
    with acting(acme):
        existing = list(MemoryEntry.objects.values_list("pk", flat=True))
    assert len(existing) == len(ids)
    derive_edges(acme.pk, existing)
    derive_edges(acme.pk, existing[::-1])
    assert rows(acme) == before


def test_derived_edge_has_the_commit_of_its_memory_for_aionis_clients(
    agent: Agent, acme: Account
) -> None:
    (first,), (second,) = (write(agent, text, **ANN) for text in TRAIN)
    memories = {str(each.pk): str(each.commit_id) for each in makers.rows(MemoryEntry, acme)}
    assert memories[first] != memories[second]
    query = {"query_text": "train to Ostrey", **ANN}
    [edge] = agent.post("memory/recall_text", query, 200)["subgraph"]["edges"]
    [row] = makers.rows(MemoryEdge, acme)
    assert (edge["id"], row.commit_id) == (str(row.pk), None)
    assert edge["commit_id"] == memories[edge["from_id"]]


def test_job_is_postponed_while_another_one_holds_the_lock(
    committed: str, agent: Agent, acme: Account
) -> None:
    paused_until.clear()
    agent.post("memory/write", {"nodes": [{"text": text, **ANN} for text in TRAIN]}, 201)
    deliver_due("embedding")
    with psycopg.connect(**connection.get_connection_params()) as another:
        lock = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
        another.execute(lock, [f"relate:{acme.pk}"])
        deliver_due("clustering")
    handler = "memory.handlers.relate_memories"
    assert handler in paused_until  # it did not wait, which would end in a lock timeout
    [row] = makers.rows(Delivery, acme, handler=handler)
    assert (row.state, row.attempts, row.reason, row.last_error) == ("PENDING", 0, "lock", "")
    assert edges(acme, "related_to") == []
    makers.update(Delivery, acme, {"done_at": None}, due_at=Now())
    makers.settle()
    assert pairs_of(acme, "related_to") == {frozenset(TRAIN)}


def test_edge_is_removed_when_a_text_changes(agent: Agent, acme: Account) -> None:
    ids = write(agent, *TRAIN, **ANN)
    assert pairs_of(acme, "related_to") == {frozenset(TRAIN)}
    for pk, text in zip(ids, ("Two eggs, some flour, a pinch of salt.", "量子位置"), strict=True):
        agent.post("memory/update", {"id": pk, "text": text}, 200)
    makers.settle()
    assert frozenset(TRAIN) not in pairs_of(acme, "related_to")
    agent.post("memory/update", {"id": ids[0], "text": TRAIN[0]}, 200)
    agent.post("memory/update", {"id": ids[1], "text": TRAIN[1]}, 200)
    makers.settle()
    assert pairs_of(acme, "related_to") == {frozenset(TRAIN)}


def test_approved_memory_is_linked(agent: Agent, acme: Account) -> None:
    with acting(acme):
        expected = {"review_visibilities": ["user"]}
        update_policy(acme.pk, expected, actor=SYSTEM)
    for pk in write(agent, *TRAIN, **ANN):
        assert edges(acme, "related_to") == []
        with acting(acme):
            review.approve(Decision(account_id=acme.pk, entry_id=UUID(pk), actor=SYSTEM))
        makers.settle()
    assert pairs_of(acme, "related_to") == {frozenset(TRAIN)}


def test_number_of_edges_is_limited(agent: Agent, acme: Account) -> None:
    write(agent, *(f"Ann takes train {n} to Ostrey on Mondays." for n in range(20)), **ANN)
    with acting(acme):
        derived = list(
            MemoryEdge.objects.filter(type="related_to").values_list("src_id", "dst_id", "weight")
        )
    assert derived
    out = [src for src, _dst, _weight in derived]
    into = [dst for _src, dst, _weight in derived]
    assert max(out.count(each) for each in out) <= MAX_RELATED
    assert max(into.count(each) for each in into) <= MAX_INCOMING
    assert all(0 < weight < 0.5 for *_ends, weight in derived)  # weaker than a written edge


@pytest.mark.parametrize("scan_factor", [0.0, 30.0])  # by the index; by a scan
def test_batch_of_searches_equals_single_ones(
    agent: Agent, acme: Account, monkeypatch: pytest.MonkeyPatch, scan_factor: float
) -> None:
    write(agent, *TRAIN, *(f"Note {n}: two eggs and some flour." for n in range(4)), **ANN)
    monkeypatch.setattr(scan_method_choice, "SCAN_FACTOR", scan_factor)
    scan_method_choice.clear_query_caches()
    collection = Collection(account_id=acme.pk, name=COLLECTION)
    with acting(acme):
        entries = MemoryEntry.objects.of(acme)
        meanings = load_meanings(list(entries), active_model())
        assert len(meanings) == 6
        batch = find_nearest_of_each(
            collection, meanings, within=AllowedObjects.from_queryset(entries), limit=3
        )
        for pk, meaning in meanings.items():
            within = AllowedObjects.from_queryset(entries.exclude(pk=pk))
            single = nearest_search.find_nearest(collection, meaning, within=within, limit=3)
            assert list(batch[pk].items()) == list(single.items())
            assert len(single) == 3
    scan_method_choice.clear_query_caches()


def test_entities_are_linked_to_their_mentions(agent: Agent, acme: Account) -> None:
    write(agent, "Perpetua Quill repairs organs.", "用户下个月去琅屿岛。", **ANN)
    write(agent, "Perpetua Quill", "琅屿岛", kind="entity", **ANN)
    write(agent, "Ask perpetua quill's sister.", "Quillings are another thing.", **ANN)
    write(agent, "She called.", entities=["Perpetua Quill"], **ANN)
    expected = [
        ("Ask perpetua quill's sister.", "Perpetua Quill"),
        ("Perpetua Quill repairs organs.", "Perpetua Quill"),
        ("She called.", "Perpetua Quill"),
        ("用户下个月去琅屿岛。", "琅屿岛"),
    ]
    assert edges(acme, "mentions") == expected
    with acting(acme):
        existing = list(MemoryEntry.objects.values_list("pk", flat=True))
    before = rows(acme)
    derive_edges(acme.pk, existing)
    assert rows(acme) == before


def test_written_edge_stays(agent: Agent, acme: Account) -> None:
    nodes = [{"client_id": str(n), "text": text, **ANN} for n, text in enumerate(TRAIN)]
    ends = {"src": {"client_id": "1"}, "dst": {"client_id": "0"}}
    edge = {"type": "related_to", "weight": 0.9, **ends}
    agent.post("memory/write", {"nodes": nodes, "edges": [edge]}, 201)
    makers.settle()
    with acting(acme):
        [stored_edge] = MemoryEdge.objects.filter(type="related_to")
        assert (stored_edge.origin, stored_edge.weight) == ("written", 0.9)


OTHER_AUDIENCES: list[dict[str, str]] = [
    {"user_id": "bob"},
    {"user_id": "ann", "agent_id": "bot"},
    {"user_id": "ann", "run_id": "r", "visibility": "conversation"},
    {"user_id": "ann", "scope": "elsewhere"},
    {"visibility": "account"},
]


def test_audiences_are_not_linked(agent: Agent, acme: Account) -> None:
    write(agent, TRAIN[0], **ANN)
    write(agent, "Ostrey", kind="entity", **ANN)
    for other in OTHER_AUDIENCES:
        agent.write(TRAIN[1], **other)
        agent.write("Ann", kind="entity", **other)
        makers.update(MemoryEntry, acme, {"status": "proposed"}, status="active")
        makers.settle()
        assert pairs_of(acme, "related_to") == set(), other
        assert (TRAIN[1], "Ostrey") not in edges(acme, "mentions"), other
        assert (TRAIN[0], "Ann") not in edges(acme, "mentions"), other


def test_recall_follows_derived_edges_and_search_does_not(agent: Agent) -> None:
    write(agent, *TRAIN, **ANN)
    query = {"query_text": "train", "limit": 1, **ANN}
    result = agent.post("memory/recall_text", query)
    assert len(result["subgraph"]["nodes"]) == 2
    assert [edge["type"] for edge in result["subgraph"]["edges"]] == ["related_to"]
    before = agent.post("memory/search", {"query": "train", **ANN, "explain": True})["results"]
    assert all(hit["explain"]["parts"]["linked"] == 0 for hit in before)


@pytest.mark.parametrize(
    ("text", "name", "has"),
    [
        ("Ask Al about it.", "Al", True),
        ("Also ask.", "Al", False),
        ("al_mond", "al", True),
        ("在琅屿岛过夏天", "琅屿岛", True),
        ("我和Al喝茶", "Al", True),
        ("anything", " ", False),
        ("C++ and C", "C++", True),
        ("x", "x", False),
    ],
)
def test_name_matches_whole_words(text: str, name: str, has: bool) -> None:  # noqa: FBT001
    assert build_name_matcher(text, [])(name) is has
