"""Which memories a key and a viewer can read."""

from collections.abc import Callable

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from memory.actions import review
from memory.actions.review import Decision
from memory.models import MemoryEntry
from tests import makers
from tests.agent import Agent

SCOPES = ("memory:read", "memory:write")


def member(account: Account) -> Agent:
    """An agent without admin scope."""
    return makers.agent(account, SCOPES)


@pytest.fixture
def writer(acme: Account) -> Agent:
    return member(acme)


@pytest.fixture
def other(acme: Account) -> Agent:
    return member(acme)


def store(agent: Agent, **more: object) -> str:
    return str(agent.post("memory/store", {"text": "The door code is 7.", **more}, 201)["id"])


def decide(acme: Account, pk: str, verb: Callable[[Decision], MemoryEntry]) -> None:
    with acting(acme):
        verb(Decision(account_id=acme.pk, entry_id=MemoryEntry.objects.get(pk=pk).pk, actor=SYSTEM))


def reads(agent: Agent, pk: str, status: int, **owner: str) -> None:
    agent.post("memory/get", {"id": pk, **owner}, status)
    agent.get(f"memory/{pk}/history", status, **owner)


def test_writer_sees_its_proposal(writer: Agent, other: Agent, agent: Agent, acme: Account) -> None:
    pk = store(writer)
    reads(writer, pk, 200)
    reads(agent, pk, 200)  # an admin's key
    reads(other, pk, 404)
    other.post("memory/update", {"id": pk, "text": "It is 8."}, 404)
    other.post("memory/forget", {"id": pk}, 404)
    decide(acme, pk, review.reject)
    reads(other, pk, 404)


def test_writer_sees_forgotten_memory(writer: Agent, other: Agent, acme: Account) -> None:
    pk = store(writer, user_id="ann")
    reads(other, pk, 200)
    decide(acme, pk, review.forget)
    reads(other, pk, 404)
    reads(writer, pk, 200)


def test_expired_memory_is_hidden(writer: Agent, other: Agent) -> None:
    pk = store(writer, user_id="ann", expires_at="2020-01-01T00:00:00Z")
    reads(other, pk, 404)


def test_forgetting_is_idempotent(writer: Agent, other: Agent) -> None:
    pk = store(writer, user_id="ann")
    assert other.post("memory/forget", {"id": pk}, 200) == other.post(
        "memory/forget", {"id": pk}, 200
    )


def test_named_owner_must_match(writer: Agent, other: Agent) -> None:
    pk = store(writer, user_id="ann", run_id="r")
    reads(other, pk, 200, user_id="ann")
    reads(other, pk, 404, user_id="bob")
    other.post("memory/forget", {"id": pk, "user_id": "bob"}, 404)


def test_approved_memory_is_forgotten_only_by_reviewers(writer: Agent, acme: Account) -> None:
    pk, own = store(writer), store(writer, dedupe=False)
    decide(acme, pk, review.approve)
    decide(acme, pk, review.pin)
    refused = writer.post("memory/forget", {"id": pk}, 403)
    assert refused["error"] == "needs_review"
    assert "reviewer" in refused["message"]
    assert writer.post("memory/get", {"id": pk})["status"] == "active"
    assert writer.post("memory/forget", {"id": own}, 200)["status"] == "forgotten"


def result(agent: Agent, **ids: str) -> set[str]:
    hits = agent.post("memory/search", {"query": "locker", **ids})["results"]
    return {hit["text"] for hit in hits}


def test_user_memories_of_a_run_need_the_user(agent: Agent) -> None:
    for text, ids in {
        "Ann's locker.": {"user_id": "ann", "run_id": "r"},
        "Bob's locker.": {"user_id": "bob", "run_id": "r"},
        "Nobody's locker.": {"run_id": "r"},
        "Ann said locker.": {"user_id": "ann", "run_id": "r", "visibility": "conversation"},
        "A bot's locker.": {"agent_id": "bot", "user_id": "ann", "run_id": "r"},
    }.items():
        agent.store(text, **ids)
    assert result(agent, run_id="r") == {"Nobody's locker.", "Ann said locker."}
    assert result(agent, run_id="r", agent_id="bot") == set()
    anns = {"Ann's locker.", "A bot's locker."}
    assert result(agent, run_id="r", user_id="ann") == {*anns, "Ann said locker."}
    assert result(agent, user_id="ann") == anns


def test_future_memory_is_hidden(agent: Agent) -> None:
    for text, year in (("New locker.", 2999), ("Old locker.", 1999)):
        since = {"valid_from": f"{year}-01-01T00:00:00Z", "user_id": "u"}
        agent.post("memory/store", {"text": text, **since}, 201)
    assert result(agent, user_id="u") == {"Old locker."}


def test_private_lane_is_visible_to_its_owner(agent: Agent) -> None:
    nodes = [
        {"text": "My locker."},
        {"text": "My locker of this run.", "run_id": "r"},
        {"text": "Ann's locker.", "user_id": "ann"},
    ]
    batch = {"memory_lane": "private", "input_text": "notes", "nodes": nodes}
    refused = agent.post("memory/write", batch, 400)
    assert [issue["path"] for issue in refused["issues"]] == ["owner_agent_id"]
    agent.post("memory/write", {**batch, "owner_agent_id": "bot"}, 201)
    assert result(agent) == set()
    assert result(agent, run_id="r") == set()
    assert result(agent, agent_id="other") == set()
    assert result(agent, agent_id="bot") == {"My locker.", "My locker of this run."}
    assert result(agent, user_id="ann") == {"Ann's locker."}
