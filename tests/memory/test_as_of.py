"""Get, list and search as of an instant match the version history."""

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
def changed(agent: Agent, acme: Account) -> list[str]:
    """Twelve memories with random changes."""
    rng = random.Random(7)  # noqa: S311
    nodes = [
        {"text": f"Shelf {i} holds jars.", "user_id": "u", "tags": ["a"], "metadata": {"n": i}}
        for i in range(12)
    ]
    written = agent.post("memory/write", {"nodes": nodes}, 201)
    ids = [str(node["id"]) for node in written["nodes"]]
    for step in range(40):
        pk = rng.choice(ids)
        with acting(acme):
            decision = Decision(account_id=acme.pk, entry_id=UUID(pk), actor=SYSTEM)
            action = rng.choice(["edit", "edit", "pin", "unpin", "empty", "revert"])
            if action == "edit":
                review.edit(decision, {"content": f"Shelf {step} holds cups.", "importance": 1.0})
            elif action == "empty":
                review.edit(decision, {"tags": [], "slots": {}, "half_life_days": step + 0.5})
            elif action == "revert":
                review.revert(decision, to=1)
            else:
                getattr(review, action)(decision)
    return ids


def versions(account: Account, pk: str) -> list[MemoryVersion]:
    with acting(account):
        return list(MemoryVersion.objects.of(account).filter(entry_id=UUID(pk)).order_by("version"))


def test_past_states_match_the_history(agent: Agent, acme: Account, changed: list[str]) -> None:
    rng = random.Random(11)  # noqa: S311
    for _ in range(100):
        pk = rng.choice(changed)
        existing = versions(acme, pk)
        at = rng.choice(existing).created_at + rng.choice([-MOMENT, 0 * MOMENT, MOMENT])
        then = [row for row in existing if row.created_at <= at]
        body = {"id": pk, "as_of": at.isoformat()}
        if not then:
            agent.post("memory/get", body, 404)
            continue
        assert_same(agent.post("memory/get", body), then[-1])
        list_results = agent.post(
            "memory/list", {"ids": [pk], "user_id": "u", "as_of": at.isoformat()}
        )
        assert_same(list_results["results"][0], then[-1])


def assert_same(page: dict[str, Any], content: MemoryVersion) -> None:
    state = content.state
    assert page["text"] == state["content"]
    assert page["version"] == state["version"] == content.version
    assert page["pinned"] == state.get("pinned", False)
    assert page["tags"] == state.get("tags", [])
    assert page["metadata"] == state.get("slots", {})
    assert page["half_life_days"] == state.get("half_life_days")
    assert page["importance"] == state["importance"]
    assert page["commit_id"] == str(content.commit_id)
    for name in ("created_at", "updated_at", "observed_at"):
        assert instant(page[name]) == instant(state[name])


def instant(text: str) -> datetime:
    hits = parse_datetime(text)
    assert hits
    return hits


def test_search_as_of_uses_the_old_text(agent: Agent, acme: Account) -> None:
    stored = agent.post("memory/store", {"text": "Ann keeps a parrot.", "user_id": "u"}, 201)
    agent.post("memory/update", {"id": stored["id"], "text": "Ann keeps a cat."}, 200)
    agent.post("memory/store", {"text": "Ben keeps a parrot.", "user_id": "u"}, 201)
    first = versions(acme, stored["id"])[0]
    then = {"user_id": "u", "as_of": first.created_at.isoformat()}
    hits = agent.post("memory/search", {"query": "parrot", **then})["results"]
    assert [hit["text"] for hit in hits] == ["Ann keeps a parrot."]
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
    query = {"query": "parrot", "user_id": "u", "explain": True, "limit": 1}

    def recalled(**more: str) -> tuple[set[str], Any]:
        result = agent.post("memory/recall_text", {**query, **more})
        return {node["text_summary"] for node in result["subgraph"]["nodes"]}, result["seeds"]

    then = {"as_of": at.isoformat()}
    texts, seeds = recalled(**then)
    assert texts == {"Ann keeps a parrot.", "Its cage is green."}
    assert sum(seeds[0]["explain"]["parts"].values()) == pytest.approx(seeds[0]["explain"]["score"])
    assert recalled(as_of=(first - MOMENT).isoformat()) == (set(), [])
    assert "parrot" not in str(recalled())
    [hit] = agent.post("memory/inject", {**query, "max_memories": 1, **then})["memories"]
    assert hit["text"] == "Ann keeps a parrot."
    assert sum(hit["explain"]["parts"].values()) == pytest.approx(hit["score"])


def test_as_of_hides_forgotten_memories(agent: Agent, acme: Account) -> None:
    stored = agent.post("memory/store", {"text": "The vault code is 9.", "user_id": "u"}, 201)
    at = versions(acme, stored["id"])[0].created_at.isoformat()
    agent.post("memory/forget", {"id": stored["id"]})
    other = makers.agent(acme, ["memory:read"])
    other.post("memory/get", {"id": stored["id"], "as_of": at}, 404)
    for endpoint, body in (("list", {}), ("search", {"query": "vault code"})):
        result = other.post(f"memory/{endpoint}", {**body, "user_id": "u", "as_of": at})["results"]
        assert result == [], endpoint
    past = agent.post("memory/get", {"id": stored["id"], "as_of": at})  # an admin key sees it all
    assert past.keys() == agent.post("memory/get", {"id": stored["id"]}).keys()
    assert past["embedding_status"] == "NONE"


def test_as_of_hides_other_users_memories(agent: Agent, acme: Account) -> None:
    stored = agent.post("memory/store", {"text": "Ann's locker is 12.", "user_id": "ann"}, 201)
    at = versions(acme, stored["id"])[0].created_at.isoformat()
    agent.post("memory/get", {"id": stored["id"], "user_id": "bob", "as_of": at}, 404)
    for endpoint, body in (("list", {}), ("search", {"query": "locker"})):
        result = agent.post(f"memory/{endpoint}", {**body, "user_id": "bob", "as_of": at})[
            "results"
        ]
        assert result == [], endpoint


def test_get_by_citation(agent: Agent) -> None:
    stored = agent.post("memory/store", {"text": "A jar.", "user_id": "u"}, 201)
    assert agent.post("memory/get", {"citation": stored["uri"]})["id"] == stored["id"]
    assert agent.post("memory/get", {"uri": stored["uri"]})["id"] == stored["id"]
    for errors in (
        "x",
        "aionis://a/b",
        stored["uri"][:-1],
        stored["uri"].replace("fact", "commit"),
    ):
        agent.post("memory/get", {"citation": errors}, 400)
        both = {"id": stored["id"], "citation": errors}
        assert agent.post("memory/get", both)["id"] == stored["id"], "the citation is not used"
    start, _, kind, pk = stored["uri"].rsplit("/", 3)
    for scope, spelling in (("a\nb", pk), ("a//b", pk), ("default", pk.replace("-", ""))):
        citation = f"{start}/{scope}/{kind}/{spelling}"
        assert agent.post("memory/get", {"citation": citation})["id"] == pk
    other = agent.post("memory/store", {"text": "A lid.", "user_id": "u", "scope": "a/b"}, 201)
    assert agent.post("memory/get", {"citation": other["uri"]})["id"] == other["id"]
    foreign = stored["uri"].replace(stored["uri"].split("/")[2], stored["id"])
    agent.post("memory/get", {"citation": foreign}, 404)
