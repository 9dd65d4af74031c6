"""Hostile values in a field, query or path of any protocol are refused, never a 500."""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client
from pytest_django import DjangoDbBlocker

from kmapp.accounts.models import Account
from tests import makers
from tests.interop.test_isolation import UNKNOWN

VALUES: tuple[Any, ...] = (
    *(None, True, 10**30, "a\0b", "x" * 3000),
    *([None], {}, {"x": 1}, {"in": []}),
)
ANN = {"user_id": "ann"}
BANK = "/v1/default/banks/b"
ITEM = {
    "content": "Tea.",
    "timestamp": "2026-01-01T00:00:00Z",
    "context": "x",
    "metadata": {"a": "b"},
    "document_id": "d",
    "entities": [{"text": "e"}],
    "tags": ["t"],
    "strategy": "experience",
    "update_mode": "append",
}
RECALL = {
    "query": "tea",
    "types": ["world"],
    "budget": "low",
    "max_tokens": 100,
    "trace": True,
    "include": {"chunks": {}},
    "tags": ["t"],
    "tags_match": "any",
    "temporal_window": {"start": "2026-01-01T00:00:00Z", "end": "2027-01-01T00:00:00Z"},
}
SEARCH = {
    "query": "tea",
    "filters": {"AND": [ANN, {"metadata": {"k": "v"}}, {"created_at": {"gte": "2026-01-01"}}]},
    "top_k": 5,
    "threshold": 0.1,
    "score_breakdown": True,
}
ADD = {
    "messages": [{"role": "user", "content": "Tea."}],
    **ANN,
    "metadata": {"a": 1},
    "infer": False,
    "expiration_date": "2030-01-01",
    "timestamp": 1700000000,
    "filters": ANN,
    "memory_type": None,
}
STORE_SEARCH = {"namespace_prefix": ["a"], "filter": {"n": {"$gte": 1}}, "limit": 5, "offset": 0}
WEBHOOK = {"name": "n", "url": "https://hooks.test/", "event_types": ["memory_add"]}
REQUESTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("POST", "/v3/memories/add/", ADD),
    ("POST", "/v3/memories/search/", SEARCH),
    ("POST", "/v3/memories/", {"filters": {**ANN, "categories": "x"}, "show_expired": True}),
    ("PUT", f"/v1/memories/{UNKNOWN}/", {"text": "t", "metadata": {}, "expiration_date": None}),
    ("PUT", "/v1/batch/", {"memories": [{"memory_id": UNKNOWN, "text": "x"}]}),
    ("POST", "/v1/feedback/", {"memory_id": UNKNOWN, "feedback": "POSITIVE"}),
    ("POST", "/v1/exports/", {"schema": {}, "filters": {"AND": [ANN]}}),
    ("POST", "/v1/exports/get/", {"memory_export_id": "x", "filters": ANN}),
    ("POST", "/api/v1/webhooks/projects/{account}/", WEBHOOK),
    ("PUT", f"/api/v1/webhooks/{UNKNOWN}/", {**WEBHOOK, "is_active": True}),
    ("PATCH", "/api/v1/orgs/organizations/o/projects/{account}/", {"custom_categories": [{}]}),
    ("POST", f"{BANK}/memories", {"items": [ITEM], "async": True, "document_tags": ["t"]}),
    ("POST", f"{BANK}/memories/recall", RECALL),
    ("PUT", BANK, {"name": "n", "mission": "m", "disposition": {"empathy": 3}}),
    ("PUT", "/store/items", {"namespace": ["a"], "key": "k", "value": {"n": 1}, "index": ["n"]}),
    ("DELETE", "/store/items", {"namespace": ["a"], "key": "k"}),
    ("POST", "/store/items/search", STORE_SEARCH),
    ("POST", "/store/items/search", {**STORE_SEARCH, "query": "tea"}),
    ("POST", "/store/namespaces", {"prefix": ["a"], "suffix": ["b"], "max_depth": 2, "limit": 5}),
)
URLS = (
    *("/v1/memories/{}/", "/v1/memories/{}/history/", "/v1/entities/?page={}", "/v1/event/{}/"),
    *("/v1/events/?page_size={}", "/api/v1/orgs/organizations/o/projects/{}/"),
    *("/api/v1/webhooks/projects/{}/", "/v2/entities/user/{}/", "/v1/memories/?user_id={}"),
    *("/v1/memories/?filters={}", "/v1/default/banks/{}", "/v1/default/banks/{}/profile"),
    *("/v1/default/banks/{}/stats", f"{BANK}/operations?limit={{}}", f"{BANK}/operations/{{}}"),
    *(f"{BANK}/memories/list?{name}={{}}" for name in ("limit", "offset", "q", "type")),
    *(f"{BANK}/documents/{{}}", f"{BANK}/entities/{{}}", "/store/items?namespace={}&key=k"),
)
TEXTS = (
    "",
    "a\0b",
    "\ud800",
    "x" * 600,
    "-1",
    "9" * 30,
    "٣",
    "..",
    "*",
    "{'user_id': '\0'}",
    "(1,",
)


@pytest.fixture(scope="module")
def filled_account(
    module_database: None, django_db_blocker: DjangoDbBlocker
) -> tuple[Account, Client]:
    """An account with a bank, items, and a memory that is no item of the store; its agent."""
    with django_db_blocker.unblock():
        account = makers.account("Acme")
        agent = Client(headers={"Authorization": f"Bearer {makers.key(account)[1]}"})
        agent.post(f"{BANK}/memories", {"items": [ITEM], "async": True}, "application/json")
        item = {"namespace": ["a"], "key": "k", "value": {"n": 1}}
        agent.put("/store/items", item, "application/json")
        other = {"text": "Tea.", "agent_id": "langgraph"}
        agent.post("/v1/memory/store", other, "application/json")
    return account, agent


@pytest.fixture
def agent(db: None, filled_account: tuple[Account, Client]) -> Client:
    return filled_account[1]


def replaced(body: Any) -> Iterator[Any]:
    """Yield the body with each value of each field replaced by each hostile value."""
    for path in places(body):
        for value in VALUES:
            changed = deepcopy(body)
            parent = changed
            for step in path[:-1]:
                parent = parent[step]
            parent[path[-1]] = value
            yield changed


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value of a body: its names and indexes."""
    items = value.items() if isinstance(value, dict) else ()
    for name, each in enumerate(value) if isinstance(value, list) else items:
        yield (*path, name)
        yield from places(each, (*path, name))


@pytest.mark.parametrize(("method", "path", "body"), REQUESTS)
def test_hostile_fields(
    agent: Client,
    filled_account: tuple[Account, Client],
    method: str,
    path: str,
    body: dict[str, Any],
) -> None:
    url = path.format(account=filled_account[0].pk)
    for changed in [body, {**body, "field_of_a_newer_client": [{}]}, *replaced(body)]:
        answer = agent.generic(method, url, json.dumps(changed), "application/json")
        assert answer.status_code < 500, (changed, answer.content)
        assert answer.status_code != 429, "which would test nothing"
        if answer.status_code >= 400:
            assert {"error", "message", "detail", "issues"} <= answer.json().keys()


@pytest.mark.parametrize("url", URLS)
def test_hostile_paths_and_queries(agent: Client, url: str) -> None:
    for text in TEXTS:
        for method in ("GET", "DELETE"):
            path = url.format(quote(text.encode("utf-8", "surrogatepass"), safe=""))
            answer = agent.generic(method, path)
            assert answer.status_code < 500, (method, path, answer.content)


def test_store_lists_its_items_only(agent: Client) -> None:
    for path, body in (
        ("/store/items/search", {"namespace_prefix": []}),
        ("/store/items/search", {"namespace_prefix": [], "query": "tea"}),
        ("/store/namespaces", {}),
    ):
        assert "Tea." not in agent.post(path, body, "application/json").text
