"""Deletion of more memories than can be forgotten at once."""

import pytest
from django.test import Client

from kmapp.accounts.models import Account
from memory.actions import bulk_review
from memory.models import MemoryEntry
from tests import makers

PATHS = (
    "/v1/memories/?agent_id=guide",
    "/v1/memories/?filters=%7B%27agent_id%27%3A%27guide%27%7D",
    "/v2/entities/agent/guide/",
    "/v1/default/banks/guide",
)


@pytest.mark.parametrize("path", PATHS)
def test_too_many_memories_are_refused_and_stay(
    agent: Client, acme: Account, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    items = [{"content": f"Tea {number}."} for number in range(3)]
    body = {"items": items, "async": True}
    retained = agent.post("/v1/default/banks/guide/memories", body, "application/json")
    assert retained.status_code == 200
    with monkeypatch.context() as patch:
        patch.setattr(bulk_review, "MAX_FORGOTTEN", 2)
        answer = agent.delete(path)
    assert (answer.status_code, answer.json()["error"]) == (400, "too_many")
    assert "More than 2 memories are selected." in answer.json()["detail"]
    assert {entry.status for entry in makers.rows(MemoryEntry, acme)} == {"active"}
    assert agent.delete(path).status_code == 200
    assert {entry.status for entry in makers.rows(MemoryEntry, acme)} == {"forgotten"}
