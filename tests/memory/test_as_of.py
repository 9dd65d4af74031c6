"""Time travel: what get, list and search answer of an instant is what history says."""

import random
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils.dateparse import parse_datetime

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from memory.actions import review
from memory.actions.review import Decision
from memory.models import MemoryEdge, MemoryVersion
from tests import makers
from tests.agent import Agent

MOMENT = timedelta(microseconds=1)


@pytest.fixture
def lived(agent: Agent, acme: Account) -> list[str]:
    """Twelve memories, each with a life of its own."""
    dice = random.Random(7)  # noqa: S311
    nodes = [
        {"text": f"Shelf {i} holds jars.", "user_id": "u", "tags": ["a"], "metadata": {"n": i}}
        for i in range(12)
    ]
    written = agent.post("memory/write", {"nodes": nodes}, 201)
    ids = [str(node["id"]) for node in written["nodes"]]
    for step in range(40):
        pk = dice.choice(ids)
        with acting(acme):
            decision = Decision(account_id=acme.pk, entry_id=UUID(pk), actor=SYSTEM)
            deed = dice.choice(["edit", "edit", "pin", "unpin", "empty", "revert"])
            if deed == "edit":
                review.edit(decision, {"content": f"Shelf {step} holds cups.", "importance": 1.0})
            elif deed == "empty":
                review.edit(decision, {"tags": [], "slots": {}, "half_life_days": step + 0.5})
            elif deed == "revert":
                review.revert(decision, to=1)
            else:
                getattr(review, deed)(decision)
    return ids


def versions(account: Account, pk: str) -> list[MemoryVersion]:
    with acting(account):
        return list(MemoryVersion.objects.of(account).filter(entry_id=UUID(pk)).order_by("version"))


def test_past_states_match_the_history(agent: Agent, acme: Account, lived: list[str]) -> None:
    dice = random.Random(11)  # noqa: S311
    for _ in range(100):
        pk = dice.choice(lived)
        known = versions(acme, pk)
        at = dice.choice(known).created_at + dice.choice([-MOMENT, 0 * MOMENT, MOMENT])
        then = [row for row in known if row.created_at <= at]
        body = {"id": pk, "as_of": at.isoformat()}
        if not then:
            agent.post("memory/get", body, 404)
            continue
        assert_same(agent.post("memory/get", body), then[-1])
        listed = agent.post("memory/list", {"ids": [pk], "user_id": "u", "as_of": at.isoformat()})
        assert_same(listed["results"][0], then[-1])


def assert_same(shown: dict[str, Any], said: MemoryVersion) -> None:
    state = said.state
    assert shown["text"] == state["content"]
    assert shown["version"] == state["version"] == said.version
    assert shown["pinned"] == state.get("pinned", False)
    assert shown["tags"] == state.get("tags", [])
    assert shown["metadata"] == state.get("slots", {})
    assert shown["half_life_days"] == state.get("half_life_days")
    assert shown["importance"] == state["importance"]
    assert shown["commit_id"] == str(said.commit_id)
    for name in ("created_at", "updated_at", "observed_at"):
        assert instant(shown[name]) == instant(state[name])


def instant(text: str) -> datetime:
    found = parse_datetime(text)
    assert found
    return found


def test_search_as_of_uses_the_old_text(agent: Agent, acme: Account) -> None:
    stored = agent.post("memory/store", {"text": "Ann keeps a parrot.", "user_id": "u"}, 201)
    agent.post("memory/update", {"id": stored["id"], "text": "Ann keeps a cat."}, 200)
    agent.post("memory/store", {"text": "Ben keeps a parrot.", "user_id": "u"}, 201)
    first = versions(acme, stored["id"])[0]
    then = {"user_id": "u", "as_of": first.created_at.isoformat()}
    found = agent.post("memory/search", {"query": "parrot", **then})["results"]
    assert [hit["text"] for hit in found] == ["Ann keeps a parrot."]
    now = agent.post("memory/search", {"query": "parrot", "user_id": "u"})["results"]
    assert now[0]["text"] == "Ben keeps a parrot."
    early = {**then, "as_of": (first.created_at - MOMENT).isoformat()}
    assert agent.post("memory/search", {"query": "parrot", **early})["results"] == []


def test_recall_and_inject_as_of_an_instant(agent: Agent, acme: Account) -> None:
    edge = {"type": "related_to", "src": {"client_id": "ann"}, "dst": {"client_id": "cage"}}
    nodes = [
        {"client_id": "ann", "text": "Ann keeps a parrot.", "user_id": "u"},
        {"client_id": "cage", "text": "Its cage is green.", "user_id": "u"},
    ]
    written = agent.post("memory/write", {"nodes": nodes, "edges": [edge]}, 201)["nodes"]
    ann, cage = (node["id"] for node in written)
    first = versions(acme, ann)[0].created_at
    with acting(acme):
        at = max(versions(acme, cage)[0].created_at, MemoryEdge.objects.get().created_at)
    for pk, text in ((ann, "Ann keeps a cat."), (cage, "Its basket is red.")):
        agent.post("memory/update", {"id": pk, "text": text}, 200)
    asked = {"query": "parrot", "user_id": "u", "explain": True, "limit": 1}

    def recalled(**more: str) -> tuple[set[str], Any]:
        told = agent.post("memory/recall_text", {**asked, **more})
        return {node["text_summary"] for node in told["subgraph"]["nodes"]}, told["seeds"]

    then = {"as_of": at.isoformat()}
    texts, seeds = recalled(**then)
    assert texts == {"Ann keeps a parrot.", "Its cage is green."}
    assert sum(seeds[0]["explain"]["parts"].values()) == pytest.approx(seeds[0]["explain"]["score"])
    assert recalled(as_of=(first - MOMENT).isoformat()) == (set(), [])
    assert "parrot" not in str(recalled())
    [hit] = agent.post("memory/inject", {**asked, "max_memories": 1, **then})["memories"]
    assert hit["text"] == "Ann keeps a parrot."
    assert sum(hit["explain"]["parts"].values()) == pytest.approx(hit["score"])


def test_as_of_hides_forgotten_memories(agent: Agent, acme: Account) -> None:
    stored = agent.post("memory/store", {"text": "The vault code is 9.", "user_id": "u"}, 201)
    at = versions(acme, stored["id"])[0].created_at.isoformat()
    agent.post("memory/forget", {"id": stored["id"]})
    other = makers.agent(acme, ["memory:read"])
    other.post("memory/get", {"id": stored["id"], "as_of": at}, 404)
    for door, body in (("list", {}), ("search", {"query": "vault code"})):
        told = other.post(f"memory/{door}", {**body, "user_id": "u", "as_of": at})["results"]
        assert told == [], door
    agent.post("memory/get", {"id": stored["id"], "as_of": at})  # an admin key sees it all


def test_as_of_hides_other_users_memories(agent: Agent, acme: Account) -> None:
    stored = agent.post("memory/store", {"text": "Ann's locker is 12.", "user_id": "ann"}, 201)
    at = versions(acme, stored["id"])[0].created_at.isoformat()
    agent.post("memory/get", {"id": stored["id"], "user_id": "bob", "as_of": at}, 404)
    for door, body in (("list", {}), ("search", {"query": "locker"})):
        told = agent.post(f"memory/{door}", {**body, "user_id": "bob", "as_of": at})["results"]
        assert told == [], door


def test_get_by_citation(agent: Agent) -> None:
    stored = agent.post("memory/store", {"text": "A jar.", "user_id": "u"}, 201)
    assert agent.post("memory/get", {"citation": stored["uri"]})["id"] == stored["id"]
    assert agent.post("memory/get", {"uri": stored["uri"]})["id"] == stored["id"]
    for wrong in ("x", "aionis://a/b", stored["uri"][:-1], stored["uri"].replace("fact", "commit")):
        agent.post("memory/get", {"citation": wrong}, 400)
    foreign = stored["uri"].replace(stored["uri"].split("/")[2], stored["id"])
    agent.post("memory/get", {"citation": foreign}, 404)
