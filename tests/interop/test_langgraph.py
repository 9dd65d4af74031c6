"""The store endpoints of LangGraph, with its SDK and with its published tests."""

import re
from typing import Any

import pytest
from django.test import Client

from tests.interop.conftest import Run

# Published tests that do not hold, with the reason.
ONLY_RELEVANT = "A search with a query returns relevant items, not every item of the namespace."
EXCEPTIONS = {
    "test_vector_search_with_filters": ONLY_RELEVANT,
    "test_async_vector_search_with_filters": ONLY_RELEVANT,
    "test_async_batched_vector_search_concurrent": ONLY_RELEVANT,
    "test_vector_store_initialization": "It reads an attribute of InMemoryStore.",
    "test_embed_with_path": "It expects the scores of its own embedding function.",
}


def test_sdk(run_client: Run) -> None:
    seen = run_client("langgraph_client.py")
    assert seen["missing"] is None
    assert seen["got"]["value"] == {"text": "Ann is allergic to peanuts.", "level": 3}
    assert seen["got"]["namespace"] == ["users", "ann"]
    assert seen["replaced"]["value"] == {"text": "Ann may eat nuts again."}
    assert seen["deleted"] is None
    assert seen["created_again"]["value"] == {"text": "Third."}
    assert seen["search"] == ["peanuts", "tea"]
    assert seen["filtered"] == ["tea"]
    assert seen["compared"] == ["peanuts"]
    assert seen["page"] == 1
    assert seen["namespaces"] == [["users", "ann"], ["users", "bob"]]
    assert seen["depth"] == [["users"]]
    assert seen["suffix"] == [["users", "bob"]]
    assert seen["not_indexed"] == []
    assert seen["expiring"] == {"text": "Soon gone."}
    assert seen["bad"] == 400


@pytest.mark.parametrize(
    "metadata",
    [
        {"namespace": [{}]},
        {"namespace": 5},
        {"namespace": [1, "a"]},
        {"namespace": []},
        {"namespace": None},
        {"key": 5},
        {"value": "text"},
        {"value": None},
    ],
    ids=str,
)
def test_malformed_memories_are_no_items(agent: Client, metadata: dict[str, Any]) -> None:
    def post(path: str, **body: Any) -> Any:
        answer = agent.post(path, body, "application/json")
        assert answer.status_code in {200, 201}, answer.content
        return answer.json()

    good: dict[str, Any] = {"namespace": ["users", "ann"], "key": "tea", "value": {"text": "Tea."}}
    assert agent.put("/store/items", good, "application/json").status_code == 204
    [item] = post("/v1/memory/list", agent_id="langgraph")["results"]
    malformed = {**item["metadata"], **metadata}
    owner = {"agent_id": "langgraph", "visibility": "user"}
    post("/v1/memory/store", text="More tea.", metadata=malformed, **owner)
    assert post("/store/namespaces") == {"namespaces": [["users", "ann"]]}
    for query in ({}, {"query": "tea"}):
        body = {"namespace_prefix": ["users"], "filter": {"text": {"$ne": "x"}}, **query}
        assert [each["key"] for each in post("/store/items/search", **body)["items"]] == ["tea"]
    # A native update can break an item that the store wrote.
    post("/v1/memory/update", id=item["id"], metadata=malformed)
    got = agent.get("/store/items", {"namespace": "users.ann", "key": "tea"})
    assert (got.status_code, got.json()) == (200, None)


def test_published_integration_tests(run_suite: Run) -> None:
    """tests/integration/test_store.py of langgraph-sdk's source distribution."""
    assert "4 passed" in run_suite("langgraph-sdk")


def test_store_passes_the_published_tests(run_suite: Run) -> None:
    """tests/test_store.py of langgraph-checkpoint's source distribution."""
    report = run_suite(
        "langgraph-checkpoint", "-k", " and ".join(f"not {name}" for name in EXCEPTIONS)
    )
    assert re.search(r"^=+ 112 passed", report, re.MULTILINE), report[-6000:]


def test_session_of_the_openai_agents_sdk(run_client: Run) -> None:
    seen = run_client("session_client.py")
    assert seen == {
        "is_session": True,
        "empty": [],
        "all": True,
        "latest": True,
        "limited": 1,
        "popped": True,
        "cleared": [[], None],
        "other": 2,
        "long": True,
        "again": 4,
        "many": True,
        "pairs": True,
        "last": True,
    }
