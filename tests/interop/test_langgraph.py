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
    good = {"namespace": ["users", "ann"], "key": "tea", "value": {"text": "Ann drinks tea."}}
    assert agent.put("/store/items", good, "application/json").status_code == 204
    more = {"prefixes": ["users"], "indexed": True}
    fields = {"agent_id": "langgraph", "visibility": "user", "metadata": {**good, **more}}
    fields["metadata"] |= metadata
    body = {"text": "Ann drinks tea too.", **fields}
    stored = agent.post("/v1/memory/store", body, "application/json")
    assert stored.status_code == 201

    def posted(path: str, **body: Any) -> Any:
        answer = agent.post(f"/store/{path}", body, "application/json")
        assert answer.status_code == 200, answer.content
        return answer.json()

    assert posted("namespaces") == {"namespaces": [["users", "ann"]]}
    for query in ({}, {"query": "tea"}):
        [item] = posted(
            "items/search", namespace_prefix=["users"], filter={"text": {"$ne": "x"}}, **query
        )["items"]
        assert item["value"] == good["value"]
    # A native update can break an item that the store wrote.
    body = {"agent_id": "langgraph"}
    memories = agent.post("/v1/memory/list", body, "application/json").json()["results"]
    [memory] = [each for each in memories if each["text"] == good["value"]["text"]]
    broken = {"id": memory["id"], "metadata": {"a": 1}}
    assert agent.post("/v1/memory/update", broken, "application/json").status_code == 200
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
    }
