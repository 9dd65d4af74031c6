"""No endpoint returns another user's memories, over any type of edge."""

import json
from typing import Any, NamedTuple

import pytest
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.database.ids import uuid7
from memory.models import MemoryEdge, MemoryEntry
from tests import makers
from tests.agent import Agent

pytestmark = pytest.mark.usefixtures("tokenizer")

SECRET = "quokka"
Type = MemoryEdge.Type


class Linked(NamedTuple):
    agent: Agent
    reader: Agent  # without admin scope
    ids: dict[str, str]  # of memories, by client id


def write_memories(agent: Agent) -> dict[str, str]:
    nodes: list[dict[str, Any]] = [
        {"client_id": "ann", "text": "Ann keeps the lighthouse.", "user_id": "ann", "run_id": "r"},
        {"client_id": "run", "text": "In the lighthouse run.", "run_id": "r"},
    ]
    for kind in Type.values:
        secret = {"text": f"Bob's {SECRET} of the lighthouse {kind}.", "entities": [SECRET]}
        conversation = {"user_id": "ann", "run_id": "other", "visibility": "conversation"}
        nodes += [
            {"client_id": f"bob-{kind}", "user_id": "bob", "run_id": "r", **secret},
            {"client_id": f"bot-{kind}", "agent_id": "bot", **secret},
            {"client_id": f"run-{kind}", **conversation, **secret},
        ]
    written = agent.post("memory/write", {"nodes": nodes}, 201)
    makers.settle()
    return {node["client_id"]: str(node["id"]) for node in written["nodes"]}


@pytest.fixture(scope="module")
def linked_once(module_database: None, django_db_blocker: DjangoDbBlocker) -> Linked:
    """Ann's and Bob's memories, linked by every type of edge in both directions."""
    with django_db_blocker.unblock():
        account = makers.account("Lighthouse")
        agent = makers.agent(account)
        ids = write_memories(agent)
        foreign = [(kind, pk) for kind in Type.values for name, pk in ids.items() if kind in name]
        with acting(account):
            MemoryEdge.objects.of(account).delete()
            MemoryEdge.objects.bulk_create(
                MemoryEdge(
                    id=uuid7(),
                    account_id=account.pk,
                    src_id=src,
                    dst_id=dst,
                    type=kind,
                    weight=1.0,
                    origin=MemoryEdge.Origin.DERIVED,
                    created_at=timezone.now(),
                )
                for kind, pk in foreign
                for own_id in (ids["ann"], ids["run"])
                for src, dst in ((own_id, pk), (pk, own_id))
            )
        return Linked(agent, makers.agent(account, ("memory:read",)), ids)


@pytest.fixture
def linked(linked_once: Linked, db: None) -> Linked:
    return linked_once


ANYONE = {"OR": [{"user_id": "bob"}, {"user_id": "*"}]}
QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": f"lighthouse {SECRET}", "limit": 200, "explain": True}),
    ("search", {"query": SECRET, "limit": 200, "filters": {"user_id": "bob"}}),
    ("search", {"query": SECRET, "limit": 200, "filters": {"NOT": {"user_id": "ann"}}}),
    ("search", {"query": SECRET, "limit": 200, "filters": ANYONE}),
    ("recall_text", {"query_text": "lighthouse", "limit": 200, "include_meta": True}),
    ("recall_text", {"query_text": "lighthouse", "include_slots": True, "max_nodes": 200}),
    ("recall", {"query_embedding": [0.1] * 384, "limit": 200, "max_nodes": 200}),
    ("inject", {"query": f"lighthouse {SECRET}", "max_memories": 50}),
    ("list", {"limit": 200, "filters": {"OR": [{"entities": SECRET}, {"user_id": "*"}]}}),
    ("list", {"limit": 200, "filters": {"NOT": {"user_id": "ann"}}}),
]


@pytest.mark.parametrize("viewer", [{"user_id": "ann"}, {"user_id": "ann", "run_id": "r"}])
def test_users_are_separated(linked: Linked, viewer: dict[str, str]) -> None:
    hidden = {pk for name, pk in linked.ids.items() if name not in ("ann", "run")}
    for endpoint, query in QUESTIONS:
        for past in ({}, {"as_of": timezone.now().isoformat()}):
            body = {**query, **viewer, **past}
            result = json.dumps(linked.agent.post(f"memory/{endpoint}", body))
            assert f"Bob's {SECRET}" not in result, (endpoint, viewer)
            assert not [pk for pk in hidden if pk in result], (endpoint, viewer)


# Filters that name one owner, and that owner.
FIXED: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"user_id": "ann"}, {"user_id": "ann"}),
    ({"AND": [{"user_id": {"eq": "ann"}}]}, {"user_id": "ann"}),
    ({"AND": [{"user_id": "ann"}], "session_id": "r"}, {"user_id": "ann", "run_id": "r"}),
    ({"run_id": "r"}, {"run_id": "r"}),
]
NOBODY: list[dict[str, Any]] = [
    {"OR": [{"user_id": "ann"}]},
    {"NOT": [{"user_id": "zoe"}]},
    {"user_id": ["ann", "bob"]},
    {"user_id": {"contains": "n"}},
    {"user_id": "*"},
]
ENDPOINTS: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": f"lighthouse {SECRET}", "limit": 200}),
    ("recall_text", {"query_text": "lighthouse", "limit": 200, "max_nodes": 200}),
    ("recall", {"query_embedding": [0.1] * 384, "limit": 200, "max_nodes": 200}),
    ("inject", {"query": f"lighthouse {SECRET}", "max_memories": 50, "min_score": 0.0}),
    ("list", {"limit": 200}),
]


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint[0])
def test_owner_in_the_filter_grants_no_more(
    linked: Linked, endpoint: tuple[str, dict[str, Any]]
) -> None:
    path, query = f"memory/{endpoint[0]}", endpoint[1]

    def result(**more: Any) -> set[str]:
        whole = json.dumps(linked.reader.post(path, {**query, **more}))
        return {name for name, pk in linked.ids.items() if pk in whole}

    for filters, named in FIXED:
        hits = result(filters=filters)
        assert hits == ({"ann"} if "user_id" in named else {"run"}), filters
        assert hits <= result(**named)
        assert hits == result(filters=filters, **named)
        # An owner outside the filter applies as well, and the filter only narrows.
        assert result(filters=filters, user_id="zoe") == set()
        assert result(filters=filters, agent_id="zoe") == set()
    for filters in NOBODY:
        assert result(filters=filters) == set(), filters


def test_assembled_call_excludes_other_users_memories(linked: Linked) -> None:
    query = {"role": "user", "content": f"Who keeps the lighthouse, and what of the {SECRET}?"}
    body = {"messages": [query], "sources": ["memory"], "user_id": "ann", "run_id": "r"}
    new = json.dumps(linked.agent.post("context/assemble", body, 201))
    assert "Ann keeps the lighthouse." in new
    assert f"Bob's {SECRET}" not in new
    assert not [pk for name, pk in linked.ids.items() if name not in ("ann", "run") and pk in new]


def test_no_get_history_or_rating_for_other_users(linked: Linked) -> None:
    agent = linked.agent
    for name, pk in linked.ids.items():
        if not name.startswith(("bob", "bot")):
            continue
        agent.post("memory/get", {"id": pk, "user_id": "ann"}, 404)
        agent.post("memory/feedback", {"id": pk, "user_id": "ann", "outcome": "positive"}, 404)
        agent.get(f"memory/{pk}/history", 404, user_id="ann")


def test_owner_sees_own_memories(linked: Linked) -> None:
    """Prove that the tests above do not pass on empty responses."""
    query = {"query_text": "lighthouse", "user_id": "ann"}
    result = linked.agent.post("memory/recall_text", query)
    assert [node["id"] for node in result["subgraph"]["nodes"]] == [linked.ids["ann"]]


def test_hidden_entries_are_not_reached_over_edges(agent: Agent, acme: Account) -> None:
    nodes = [
        {"client_id": name, "text": f"The {name} of the pier.", "user_id": "u"}
        for name in ("lamp", "bell", "rope", "mast")
    ]
    edges = [
        {"type": "related_to", "src": {"client_id": "lamp"}, "dst": {"client_id": name}}
        for name in ("bell", "rope", "mast")
    ]
    agent.post("memory/write", {"nodes": nodes, "edges": edges}, 201)
    agent.post("memory/forget", {"client_id": "bell"})
    makers.update(MemoryEntry, acme, {"client_id": "rope"}, status="proposed")
    hits = agent.post("memory/recall_text", {"query_text": "lamp", "user_id": "u", "limit": 1})
    assert {node["text_summary"] for node in hits["subgraph"]["nodes"]} == {
        "The lamp of the pier.",
        "The mast of the pier.",
    }
