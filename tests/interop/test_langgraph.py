"""The store endpoints of LangGraph, with its SDK and with its published tests."""

import re
from datetime import datetime
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from interop import key_value_memory, protocol_view
from interop.key_value_memory import KeyedMemory
from interop.protocol_view import ProtocolView
from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, ApiKey
from memory.actions import review
from memory.models import MemoryEntry
from tests import makers
from tests.interop.conftest import Run

pytestmark = pytest.mark.usefixtures("module_commits")
# Published tests that kmapp does not pass, with the reason.
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


MALFORMED: tuple[dict[str, Any], ...] = (
    *({"namespace": [{}]}, {"namespace": 5}, {"namespace": [1, "a"]}, {"namespace": []}),
    *({"namespace": None}, {"name": 5}, {"value": "text"}, {"value": None}),
)


def test_malformed_memories_are_no_items(agent: Client) -> None:
    def post(path: str, **body: Any) -> Any:
        answer = agent.post(path, body, "application/json")
        assert answer.status_code in {200, 201}, answer.content
        return answer.json()

    good: dict[str, Any] = {"namespace": ["users", "ann"], "key": "tea", "value": {"text": "Tea."}}
    assert agent.put("/store/items", good, "application/json").status_code == 204
    [item] = post("/v1/memory/list", agent_id="langgraph")["results"]
    malformed = [{**item["metadata"], **metadata} for metadata in MALFORMED]
    for number, metadata in enumerate(malformed):
        owner = {"agent_id": "langgraph", "visibility": "user"}
        post("/v1/memory/store", text=f"More tea {number}.", metadata=metadata, **owner)
    assert post("/store/namespaces") == {"namespaces": [["users", "ann"]]}
    for query in ({}, {"query": "tea"}):
        body = {"namespace_prefix": ["users"], "filter": {"text": {"$ne": "x"}}, **query}
        assert [each["key"] for each in post("/store/items/search", **body)["items"]] == ["tea"]
    # An update by the native API can make an item of the store malformed.
    for metadata in malformed:
        post("/v1/memory/update", id=item["id"], metadata=metadata)
        got = agent.get("/store/items", {"namespace": "users.ann", "key": "tea"})
        assert (got.status_code, got.json()) == (200, None), metadata


ITEM: dict[str, Any] = {"namespace": ["users", "ann"], "key": "tea"}


def put_item(agent: Client, text: str, status: int = 204, **more: Any) -> None:
    body = {**ITEM, "value": {"text": text}, **more}
    assert agent.put("/store/items", body, "application/json").status_code == status


def get_item(agent: Client) -> Any:
    item = agent.get("/store/items", {"namespace": "users.ann", "key": "tea"}).json()
    return item and item["value"]["text"]


def delete_item(agent: Client) -> None:
    assert agent.delete("/store/items", ITEM, "application/json").status_code == 204


def list_generations_once(monkeypatch: pytest.MonkeyPatch, before: list[Any]) -> None:
    """Let the next request find `before`, as if it had read the memories earlier."""
    list_generations = KeyedMemory._generations  # noqa: SLF001

    def list_earlier(keyed: KeyedMemory) -> Any:
        return before.pop() if before else list_generations(keyed)

    monkeypatch.setattr(KeyedMemory, "_generations", list_earlier)


def test_keys_that_look_random_are_returned(agent: Client, acme: Account) -> None:
    key = "0b9d81f4-3a52-4c7e-9f21-6d1e8a4c5b70"
    body = {**ITEM, "key": key, "value": {"text": "Tea."}}
    assert agent.put("/store/items", body, "application/json").status_code == 204
    got = agent.get("/store/items", {"namespace": "users.ann", "key": key}).json()
    found = agent.post("/store/items/search", {"query": "tea"}, "application/json").json()["items"]
    assert [each["key"] for each in (got, *found)] == [key, key]
    body |= {"key": "13812345678"}
    assert agent.put("/store/items", body, "application/json").status_code == 204
    items = agent.post("/store/items/search", {}, "application/json").json()["items"]
    assert [each["key"] for each in items] == ["[phone]", key]
    assert agent.delete("/store/items", body, "application/json").status_code == 204
    # An item of an earlier release.
    metadata = {**makers.get(MemoryEntry, acme, status="active").slots, "key": "tea"}
    del metadata["name"]
    makers.update(MemoryEntry, acme, {"status": "active"}, slots=metadata)
    assert agent.get("/store/items", {"namespace": "users.ann", "key": key}).json()["key"] == "tea"


def test_value_has_the_text_that_a_person_corrected(agent: Client, acme: Account) -> None:
    values: dict[str, dict[str, Any]] = {
        "text": {"text": " Tea. ", "n": 1},
        "summary": {"summary": "Te\u0301a."},
    }
    for field, value in values.items():
        body = {**ITEM, "value": value}
        assert agent.put("/store/items", body, "application/json").status_code == 204
        got = agent.get("/store/items", {"namespace": "users.ann", "key": "tea"}).json()
        assert got["value"] == value
        entry = makers.get(MemoryEntry, acme)
        with acting(acme):
            review.edit(makers.decision(entry), {"content": "Milk."})
        search = {"filter": {field: "Milk."}}
        [item] = agent.post("/store/items/search", search, "application/json").json()["items"]
        assert item["value"] == {**value, field: "Milk."}


def test_expiring_item_is_replaced_in_place(
    agent: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_value_memory, "MAX_GENERATIONS", 2)
    for number in range(4):
        put_item(agent, f"Tea {number}.", ttl=5)
        assert get_item(agent) == f"Tea {number}."
        if number > 1:
            makers.update(MemoryEntry, acme, {}, expires_at=timezone.now())
            assert get_item(agent) is None
    put_item(agent, "Tea forever.")
    assert get_item(agent) == "Tea forever."
    assert makers.get(MemoryEntry, acme).expires_at is None


def test_item_put_again_after_its_expiry_is_new(agent: Client, acme: Account) -> None:
    def get_created_at() -> datetime:
        item = agent.get("/store/items", {"namespace": "users.ann", "key": "tea"}).json()
        return datetime.fromisoformat(item["created_at"])

    put_item(agent, "First.", ttl=5)
    created_at = get_created_at()
    put_item(agent, "Second.", ttl=5)
    assert get_created_at() == created_at
    makers.update(MemoryEntry, acme, {}, expires_at=timezone.now())
    put_item(agent, "Third.", ttl=5)
    created_again_at = get_created_at()
    assert created_again_at > created_at
    put_item(agent, "Fourth.")
    assert get_created_at() == created_again_at
    results = agent.post("/store/items/search", {"namespace_prefix": ["users"]}, "application/json")
    [item] = results.json()["items"]
    assert datetime.fromisoformat(item["created_at"]) == created_again_at


def test_search_without_a_query_reads_the_pages_that_it_needs(
    agent: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        item = {**ITEM, "key": f"tea{number}", "value": {"text": "Tea."}}
        assert agent.put("/store/items", item, "application/json").status_code == 204
    post_native, paths = ProtocolView.post_native, list[str]()

    def post_and_count(view: ProtocolView, path: str, *arguments: Any, **options: Any) -> Any:
        paths.append(path)
        return post_native(view, path, *arguments, **options)

    monkeypatch.setattr(ProtocolView, "post_native", post_and_count)
    monkeypatch.setattr(protocol_view, "PAGE", 2)
    body = {"namespace_prefix": ["users"], "limit": 3}
    answer = agent.post("/store/items/search", body, "application/json").json()
    assert [each["key"] for each in answer["items"]] == ["tea4", "tea3", "tea2"]
    assert paths == ["/v1/memory/list"] * 2


def test_items_put_at_the_same_time_are_one_item(
    agent: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_item(agent, "First.")
    list_generations_once(monkeypatch, [[]])  # before the first request stored the item
    put_item(agent, "Second.")
    assert get_item(agent) == "Second."
    assert makers.count(MemoryEntry, acme, status="active") == 1
    delete_item(agent)
    assert get_item(agent) is None


def test_item_deleted_while_it_is_put_is_stored_again(
    agent: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_item(agent, "First.")
    list_generations = KeyedMemory._generations  # noqa: SLF001
    before: list[Any] = []  # what the second request read before the item was deleted

    def list_and_keep(keyed: KeyedMemory) -> Any:
        before.append(list_generations(keyed))
        return before[-1]

    with monkeypatch.context() as patch:
        patch.setattr(KeyedMemory, "_generations", list_and_keep)
        delete_item(agent)
    list_generations_once(monkeypatch, before)
    put_item(agent, "Second.")
    assert get_item(agent) == "Second."
    assert makers.count(MemoryEntry, acme, status="active") == 1


def test_item_that_another_key_deleted_can_be_put_again(acme: Account) -> None:
    scopes = ["memory:read", "memory:write"]
    first, second = (
        Client(headers={"Authorization": f"Bearer {makers.key(acme, scopes)[1]}"}) for _ in range(2)
    )
    for _ in range(2):
        put_item(first, "Tea.")
        delete_item(first)
        assert get_item(second) is None
        put_item(second, "Tea.")
        assert get_item(first) == get_item(second) == "Tea."
        delete_item(second)


def test_put_states_why_the_native_write_was_refused(
    agent: Client, key: tuple[ApiKey, str], acme: Account
) -> None:
    makers.set_policy(acme, {"review_keys": [str(key[0].pk)], "open_proposals": 1})
    put_item(agent, "Tea.")
    body = {**ITEM, "key": "milk", "value": {"text": "Milk."}}
    answer = agent.put("/store/items", body, "application/json")
    assert (answer.status_code, answer.json()["error"]) == (409, "too_many_proposals")


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
        "rejected": 413,
        "undone": True,
        "lost": ["ConnectionFailed", []],
    }
