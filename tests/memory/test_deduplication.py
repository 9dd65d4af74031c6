"""Said again: one memory, told so. Said much alike: both, told so."""

from typing import Any

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.ledger.models import Commit
from memory.models import MemoryEntry
from tests import makers
from tests.agent import Agent

SAID = {"text": "Ann takes the train to Ostrey on Mondays.", "user_id": "ann", "tags": ["travel"]}


def count(account: Account) -> int:
    return makers.count(MemoryEntry, account)


def test_storing_the_same_text_returns_the_existing_memory(agent: Agent, acme: Account) -> None:
    first = agent.post("memory/store", SAID, 201)
    assert first["decisions"] == []
    commits = makers.count(Commit, acme)
    again = agent.post("memory/store", SAID, 200)
    assert again["id"] == first["id"]
    assert again["decisions"] == [{"code": "already_known", "memory_id": first["id"]}]
    with acting(acme):
        assert (MemoryEntry.objects.count(), Commit.objects.count()) == (1, commits)


@pytest.mark.parametrize(
    "other",
    [
        {"user_id": "bob"},
        {"agent_id": "bot"},
        {"run_id": "r"},
        {"scope": "elsewhere"},
        {"kind": "preference"},
        {"tags": ["travel", "work"]},
        {"metadata": {"heard": "twice"}},
        {"observed_at": "2026-01-31T12:00:00Z"},
        {"text": "Ann takes the train to Ostrey on Sundays."},
        {"client_id": "mine"},
        {"dedupe": False},
    ],
)
def test_different_attributes_are_stored(
    agent: Agent, acme: Account, other: dict[str, Any]
) -> None:
    first = agent.post("memory/store", SAID, 201)
    assert agent.post("memory/store", {**SAID, **other}, 201)["id"] != first["id"]
    assert count(acme) == 2


def test_inactive_memories_are_not_duplicates(agent: Agent, acme: Account) -> None:
    first = agent.post("memory/store", SAID, 201)
    agent.post("memory/update", {"id": first["id"], "text": "Ann takes the bus."}, 200)
    second = agent.post("memory/store", SAID, 201)
    agent.post("memory/forget", {"id": second["id"]}, 200)
    agent.post("memory/store", SAID, 201)
    assert count(acme) == 3


def test_batch_is_deduplicated_on_request(agent: Agent, acme: Account) -> None:
    known = agent.post("memory/store", SAID, 201)["id"]
    nodes = {"nodes": [SAID, {"text": "New.", "user_id": "ann"}]}
    written = agent.post("memory/write", {**nodes, "dedupe": True}, 201)
    assert written["nodes"][0]["id"] == known
    assert count(acme) == 2
    turns = agent.post("memory/write", nodes, 201)  # a turn said twice was said twice
    assert known not in {node["id"] for node in turns["nodes"]}
    assert count(acme) == 4


def test_similar_text_is_stored_and_reported(agent: Agent, acme: Account) -> None:
    known = agent.post("memory/store", SAID, 201)["id"]
    near = {**SAID, "text": "Ann takes the train to Ostrey on Fridays."}
    [decision] = agent.post("memory/store", near, 201)["decisions"]
    assert decision["code"] == "near_contradiction"
    assert decision["memory_id"] == known
    assert 0 < decision["score"] <= 1
    assert count(acme) == 2
    other = {**near, "user_id": "bob"}
    assert agent.post("memory/store", other, 201)["decisions"] == []  # nothing of Ann's is told


def test_proposals_of_other_keys_are_not_reported(agent: Agent, acme: Account) -> None:
    said = {"text": "The office is in Ostrey."}  # everyone would see it: it waits for a person
    first = agent.post("memory/store", said, 201)
    other = makers.agent(acme, ("memory:read", "memory:write"))
    assert other.post("memory/store", said, 201)["id"] != first["id"]
    assert agent.post("memory/store", said, 200)["id"] == first["id"]
