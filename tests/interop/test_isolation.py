"""Isolation of accounts: every protocol treats objects of another account as unknown."""

import json
from typing import Any

import pytest
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from memory.models import MemoryEntry
from tests import makers

UNKNOWN = "0190a7a0-0000-7000-8000-000000000000"


@pytest.fixture
def stored(agent: Client) -> str:
    """Store a memory of every protocol for Acme; return the id of one that mem0 added."""
    added = agent.post(
        "/v3/memories/add/",
        {"messages": "Ann likes tea.", "user_id": "ann", "infer": False},
        "application/json",
    )
    item = {"namespace": ["users"], "key": "ann", "value": {"text": "Ann likes tea."}}
    agent.put("/store/items", item, "application/json")
    body = {"items": [{"content": "Ann likes tea.", "document_id": "d"}], "async": True}
    agent.post("/v1/default/banks/ann/memories", body, "application/json")
    return str(added.json()["results"][0]["id"])


@pytest.fixture
def stranger(rival: Account) -> Client:
    return Client(headers={"Authorization": f"Bearer {makers.key(rival)[1]}"})


def test_ids_of_another_account_are_unknown(stored: str, stranger: Client, acme: Account) -> None:
    for method, path, body in (
        ("GET", "/v1/memories/{}/", None),
        ("PUT", "/v1/memories/{}/", {"text": "Mine."}),
        ("DELETE", "/v1/memories/{}/", None),
        ("GET", "/v1/memories/{}/history/", None),
        ("POST", "/v1/feedback/", {"memory_id": "{}", "feedback": "NEGATIVE"}),
        ("PUT", "/v1/batch/", {"memories": [{"memory_id": "{}", "text": "Mine."}]}),
        ("DELETE", "/v1/batch/", {"memories": [{"memory_id": "{}"}]}),
    ):
        answers = [
            _request(stranger, method, path.format(pk), _filled(body, pk))
            for pk in (stored, UNKNOWN)
        ]
        assert answers[0] == answers[1], path
        assert answers[0][0] == 404, path
    with acting(acme):
        entry = MemoryEntry.objects.of(acme.pk).get(pk=stored)
        assert (entry.content, entry.status) == ("Ann likes tea.", MemoryEntry.Status.ACTIVE)


def _filled(body: Any, pk: str) -> Any:
    if isinstance(body, dict):
        return {name: _filled(value, pk) for name, value in body.items()}
    if isinstance(body, list):
        return [_filled(value, pk) for value in body]
    return body.replace("{}", pk) if isinstance(body, str) else body


def _request(client: Client, method: str, path: str, body: Any) -> tuple[int, Any]:
    text = "" if body is None else json.dumps(body)
    answer = client.generic(method, path, text, content_type="application/json")
    return answer.status_code, answer.json()


def test_owners_namespaces_and_banks_of_another_account_are_empty(
    stored: str, stranger: Client
) -> None:
    ann = {"filters": {"user_id": "ann"}}
    assert _request(stranger, "POST", "/v3/memories/", ann)[1]["results"] == []
    question = {**ann, "query": "tea"}
    assert _request(stranger, "POST", "/v3/memories/search/", question)[1]["results"] == []
    assert _request(stranger, "GET", "/v1/entities/", None)[1]["results"] == []
    assert _request(stranger, "DELETE", "/v1/memories/?user_id=ann", None)[1]["count"] == 0
    assert _request(stranger, "GET", "/store/items?namespace=users&key=ann", None)[1] is None
    assert _request(stranger, "POST", "/store/items/search", {})[1] == {"items": []}
    assert _request(stranger, "POST", "/store/namespaces", {})[1] == {"namespaces": []}
    for path in ("memories/list", "stats", "operations", "entities", "documents/d", "profile"):
        assert _request(stranger, "GET", f"/v1/default/banks/ann/{path}", None)[0] == 404
    recall = {"query": "tea"}
    assert _request(stranger, "POST", "/v1/default/banks/ann/memories/recall", recall)[0] == 404
    assert _request(stranger, "DELETE", "/v1/default/banks/ann", None)[0] == 404


def test_a_reading_key_may_not_write(acme: Account, reader: str) -> None:
    client = Client(headers={"X-Api-Key": reader})
    project = f"/api/v1/orgs/organizations/o/projects/{acme.pk}/"
    for method, path, body in (
        ("POST", "/v3/memories/add/", {"messages": "Tea.", "user_id": "ann", "infer": False}),
        ("PUT", "/store/items", {"namespace": ["a"], "key": "k", "value": {"text": "Tea."}}),
        ("POST", "/v1/default/banks/b/memories", {"items": [{"content": "Tea."}]}),
        ("PATCH", project, {"custom_instructions": "x"}),
    ):
        status, answer = _request(client, method, path, body)
        assert (status, answer["error"]) == (403, "missing_scope"), path
