"""Items of a LangGraph store with equal texts, and items that reuse a deleted key."""

from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from interop import key_value_memory
from kmapp.accounts.models import Account, ApiKey
from memory.models import MemoryEntry
from tests import makers
from tests.interop.test_langgraph import delete_item, get_item, put_item
from tests.webhook_receiver import receive_webhooks

pytestmark = pytest.mark.usefixtures("module_commits")


def search_items(agent: Client, **body: Any) -> list[tuple[str, ...]]:
    """Return namespace and key of the items that a search finds."""
    items = agent.post("/store/items/search", body, "application/json").json()["items"]
    return [(*each["namespace"], each["key"]) for each in items]


def test_search_returns_every_item_of_equal_texts(agent: Client) -> None:
    ids = [("users", name, f"tea{number}") for name in ("ann", "bob") for number in range(3)]
    for *namespace, key in ids:
        body = {"namespace": namespace, "key": key, "value": {"text": "Likes green tea."}}
        assert agent.put("/store/items", body, "application/json").status_code == 204
    of_all = search_items(agent, namespace_prefix=["users"], query="green tea")
    assert sorted(of_all) == ids
    of_bob = search_items(agent, namespace_prefix=["users", "bob"], query="green tea")
    assert sorted(of_bob) == ids[3:]
    page = search_items(agent, namespace_prefix=["users"], query="green tea", limit=4)
    rest = search_items(agent, namespace_prefix=["users"], query="green tea", limit=4, offset=4)
    assert sorted(page + rest) == ids
    native = {"query": "green tea", "agent_id": "langgraph"}
    answer = agent.post("/v1/memory/search", native, "application/json").json()
    assert len(answer["results"]) == 1


def test_key_can_be_deleted_and_put_any_number_of_times(
    agent: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_value_memory, "MAX_GENERATIONS", 2)
    for number in range(5):
        put_item(agent, f"Tea {number}.")
        assert get_item(agent) == f"Tea {number}."
        delete_item(agent)
        assert get_item(agent) is None
        for query in ({}, {"query": "tea"}):
            assert search_items(agent, namespace_prefix=["users"], **query) == []
        delete_item(agent)
    rows = makers.rows(MemoryEntry, acme)
    assert sorted(entry.status for entry in rows) == ["active", "forgotten"]
    expired = makers.get(MemoryEntry, acme, status="active")
    assert (expired.content, expired.slots) == (key_value_memory.DELETED_TEXT, {})


def test_webhooks_report_the_deletion_of_the_last_generation(
    agent: Client, acme: Account, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_value_memory, "MAX_GENERATIONS", 1)
    with receive_webhooks() as receiver:
        settings.WEBHOOK_PRIVATE = [receiver.netloc]
        hook = {"name": "Log", "url": receiver.url}
        created = agent.post(f"/api/v1/webhooks/projects/{acme.pk}/", hook, "application/json")
        assert created.status_code == 201
        put_item(agent, "Tea.")
        put_item(agent, "Green tea.")
        delete_item(agent)
        put_item(agent, "Tea again.")
        makers.settle()
    events = sorted(each["event_details"]["event"] for each in receiver.bodies())
    assert events == ["ADD", "ADD", "DELETE", "UPDATE"]


def test_last_generation_is_forgotten_if_its_changes_need_a_review(
    agent: Client, acme: Account, key: tuple[ApiKey, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_value_memory, "MAX_GENERATIONS", 1)
    put_item(agent, "Tea.")
    makers.set_policy(acme, {"review_keys": [str(key[0].pk)]})
    delete_item(agent)
    assert get_item(agent) is None
    statuses = {entry.status for entry in makers.rows(MemoryEntry, acme)}
    assert statuses == {"forgotten"}
    put_item(agent, "Tea again.", 409)


def test_item_that_needs_review_has_one_proposal(
    agent: Client, acme: Account, key: tuple[ApiKey, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_value_memory, "MAX_GENERATIONS", 3)
    makers.set_policy(acme, {"review_keys": [str(key[0].pk)]})
    for number in range(5):
        put_item(agent, f"Tea {number}.")
    proposal = makers.get(MemoryEntry, acme)
    assert (proposal.status, proposal.content) == ("proposed", "Tea 4.")
    delete_item(agent)
    assert makers.get(MemoryEntry, acme).status == "forgotten"
    put_item(agent, "Tea again.")
    makers.set_policy(acme, {"review_keys": []})
    put_item(agent, "Tea at last.")
    assert get_item(agent) == "Tea at last."
