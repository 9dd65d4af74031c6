"""Search finds written memories for those who may see them."""

from typing import Any

import pytest
from django.db.models.functions import Now

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.outbox.models import Delivery
from kmapp.search.models import Vector
from memory.models import MemoryEdge
from tests import makers
from tests.agent import Agent

pytestmark = pytest.mark.usefixtures("tokenizer")


def write(agent: Agent, *texts: str, **more: str) -> None:
    nodes = [{"text": text, "kind": "event", **more} for text in texts]
    agent.post("memory/write", {"nodes": nodes}, 201)


def test_finds_by_meaning_after_embedding(agent: Agent) -> None:
    write(
        agent, "The cat sleeps on the sofa.", "Quarterly revenue rose by ten percent.", user_id="u"
    )
    makers.settle()
    result = agent.post("memory/search", {"query": "a pet naps on the couch", "user_id": "u"})
    assert result["results"][0]["text"].startswith("The cat")
    assert result["results"][0]["embedding_status"] == "READY"
    assert agent.get("health")["pending_embeddings"] == 0


STATES = {
    "READY": "The pier is of oak.",
    "PENDING": "The pier is of elm.",
    "FAILED": "The pier is of ash.",
    "NONE": "The pier is of fir.",
    "COLD": "The pier is of yew.",
}
ENDPOINTS: list[tuple[str, str, dict[str, Any]]] = [
    ("search", "results", {"query": "pier"}),
    ("inject", "memories", {"query": "pier", "min_score": 0.0}),
    ("recall_text", "seeds", {"query_text": "pier"}),
]


@pytest.fixture
def states(agent: Agent, acme: Account) -> dict[str, str]:
    """A memory in each embedding state; the state by id."""
    ids = {}
    for state, text in STATES.items():
        node = {"text": text, "user_id": "u", "tier": "cold" if state == "COLD" else "hot"}
        body = {"nodes": [node], "auto_embed": state != "NONE"}
        ids[agent.post("memory/write", body, 201)["nodes"][0]["id"]] = state
        if state == "READY":
            makers.settle()
    with acting(acme):
        failed = [pk for pk, state in ids.items() if state == "FAILED"]
        Vector.objects.of(acme).filter(object_id__in=failed).update(state="FAILED", error="bad")
        Delivery.objects.of(acme).update(done_at=Now())
    return ids


def test_hits_state_the_embedding_status(
    agent: Agent, states: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def search(endpoint: str, name: str, query: dict[str, Any]) -> dict[str, str]:
        hits = agent.post(f"memory/{endpoint}", {**query, "user_id": "u"})[name]
        return {hit["id"]: hit["embedding_status"] for hit in hits}

    for endpoint in ENDPOINTS:
        assert search(*endpoint) == states, endpoint
    for pk, state in states.items():
        assert agent.post("memory/get", {"id": pk})["embedding_status"] == state
    monkeypatch.setattr("memory.retrieval.search.load_query_vector", lambda *query: None)
    assert search(*ENDPOINTS[0]) == states, "without the vector of the query"


def test_user_search_spans_runs(agent: Agent) -> None:
    write(agent, "We met in Lisbon.", user_id="ann", run_id="r1")
    write(agent, "We met in Porto.", user_id="ann", run_id="r2")
    result = agent.post("memory/search", {"query": "met", "user_id": "ann"})["results"]
    assert {hit["run_id"] for hit in result} == {"r1", "r2"}


def test_account_wide_memory_needs_review(agent: Agent) -> None:
    write(agent, "The office closes at six.")
    assert agent.post("memory/search", {"query": "office"})["results"] == []


def test_turns_of_a_run_are_linked(agent: Agent, acme: Account) -> None:
    write(agent, "One.", "Two.", "Three.", user_id="u", run_id="r")
    makers.settle()
    with acting(acme):
        edges = MemoryEdge.objects.filter(type="next").select_related("src", "dst")
        pairs = {(e.src.content, e.dst.content) for e in edges}
    assert pairs == {("One.", "Two."), ("Two.", "Three.")}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The dose is 1.5 mg.", "The dose is 15 mg."),
        ("Dose: -5 °C", "Dose: 5 °C"),
        ("A dose if x < 5", "A dose if x > 5"),
        ("The dose in C", "The dose in C++"),
    ],
)
def test_texts_that_differ_in_a_sign_are_returned(agent: Agent, one: str, other: str) -> None:
    again = f" {one.upper()}  "
    write(agent, one, other, again, user_id="u")
    results = agent.search("dose", user_id="u")
    assert other in {each["text"] for each in results}
    assert len(results) == 2, "equal but for case and spacing"
