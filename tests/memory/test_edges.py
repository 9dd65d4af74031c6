"""Edges written by agents."""

from typing import Any

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.search.allowed_objects import AllowedObjects
from memory.models import MemoryEdge, MemoryEntry
from memory.models.entry_input import NewEntry
from memory.retrieval.candidates import collect_candidates
from tests import makers
from tests.agent import Agent


def nodes(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [{"client_id": name, "text": f"Thing {name}.", **more} for name in names]


def edge(src: str, dst: str, kind: str) -> dict[str, Any]:
    return {"type": kind, "src": {"client_id": src}, "dst": {"client_id": dst}}


def test_rejects_edges_from_entries_that_need_review(agent: Agent) -> None:
    agent.post("memory/write", {"nodes": nodes("old", "new")}, 201)
    for kind in ("supersedes", "contradicts"):
        refused = agent.post("memory/write", {"edges": [edge("new", "old", kind)]}, 400)
        assert refused["error"] == "edge_after_entry", kind
        assert refused["issues"][0]["path"] == "edges.0.src", kind


def test_new_memory_can_supersede_and_be_rewritten(agent: Agent) -> None:
    agent.post("memory/write", {"nodes": nodes("old")}, 201)
    body = {"nodes": nodes("new"), "edges": [edge("new", "old", "supersedes")]}
    first = agent.post("memory/write", body, 201)
    assert agent.post("memory/write", body, 200)["edges"] == first["edges"]


def test_edge_between_existing_memories_is_created(agent: Agent) -> None:
    agent.post("memory/write", {"nodes": nodes("a", "b", user_id="u")}, 201)
    body = {"edges": [edge("a", "b", "related_to")]}
    assert agent.post("memory/write", body, 201)["commit_id"]
    agent.post("memory/write", body, 200)


def test_batch_scope_applies_to_edge_ends(agent: Agent) -> None:
    for scope in ("", "work"):
        agent.post("memory/write", {"scope": scope, "nodes": nodes("a", "b", user_id="u")}, 201)
    expected = agent.post("memory/get", {"client_id": "a", "scope": "work"})["id"]
    body = {"scope": "work", "edges": [edge("a", "b", "related_to")]}
    assert agent.post("memory/write", body, 201)["edges"][0]["src_id"] == expected


def test_written_edge_replaces_a_derived_one(agent: Agent, acme: Account) -> None:
    text = {"user_id": "u", "run_id": "r"}
    for name, year in (("a", 2020), ("b", 2022)):
        when = f"{year}-01-01T00:00:00Z"
        agent.post("memory/write", {"nodes": nodes(name, **text, observed_at=when)}, 201)
    makers.settle()
    body = {"edges": [{**edge("a", "b", "next"), "weight": 0.9}]}
    answer = agent.post("memory/write", body, 201)
    # A late turn between them must not remove the edge that the agent wrote.
    late = nodes("c", **text, observed_at="2021-01-01T00:00:00Z")
    agent.post("memory/write", {"nodes": late}, 201)
    makers.settle()
    saved = makers.get(MemoryEdge, acme, src__client_id="a", dst__client_id="b", type="next")
    assert (str(saved.pk), str(saved.commit_id)) == (answer["edges"][0]["id"], answer["commit_id"])
    assert (saved.origin, saved.weight) == ("written", 0.9)


def test_the_first_outgoing_edges_are_within_the_limit_of_neighbours(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order of the rows in the table does not decide which neighbours become candidates."""
    monkeypatch.setattr("memory.retrieval.candidates.MAX_NEIGHBOURS", 1)
    names = ["one", "two", "three"]
    seed, *neighbours = makers.write(
        acme,
        NewEntry(text="Oolong.", client_id="seed"),
        *(NewEntry(text=f"Thing {name}.", client_id=name) for name in names),
        edges=[makers.edge("related_to", "seed", name) for name in reversed(names)],
    )
    with acting(acme):
        within = AllowedObjects.from_queryset(MemoryEntry.objects.of(acme))
        candidates = collect_candidates(acme.pk, "oolong", None, within).candidates
    first = min(neighbours, key=lambda each: each.pk)
    assert {each.id for each in candidates} == {str(seed.pk), str(first.pk)}
