"""Embeddings are returned only to admins, and shortened."""

import json
import re
from typing import Any

import pytest
from rest_framework.test import APIClient

from kmapp.accounts.models import Account
from tests import makers
from tests.agent import Agent

pytestmark = pytest.mark.promise(25)

FLOATS = re.compile(r"(?:-?\d+\.\d+(?:e-?\d+)?\s*,\s*){8}-?\d+\.\d+")
TRUE: list[Any] = [True, "true", "True", "TRUE", "1", 1, "yes", "on", "t", "y"]
NAMES = ["include_embeddings", "includeEmbeddings", "INCLUDE_EMBEDDINGS", "include-embeddings"]
BODIES_BY_ENDPOINT = {
    "search": {"query": "kettle"},
    "recall_text": {"query_text": "kettle"},
    "inject": {"query": "kettle"},
    "list": {},
}


@pytest.fixture
def filled(agent: Agent) -> Agent:
    for i in range(8):
        agent.post("memory/store", {"text": f"Kettle number {i}.", "user_id": "u"}, 201)
    makers.settle()
    return agent


def reader(acme: Account, *scopes: str) -> APIClient:
    _, secret = makers.key(acme, scopes)
    return APIClient(headers={"authorization": f"Bearer {secret}"})


def assert_shut(text: str) -> None:
    assert not FLOATS.search(text)
    assert '"embedding"' not in text
    assert '"preview"' not in text


def test_embeddings_need_the_admin_scope(filled: Agent, acme: Account) -> None:
    client = reader(acme, "memory:read", "debug")
    for name in NAMES:
        for content in TRUE:
            for endpoint, query in BODIES_BY_ENDPOINT.items():
                body = {**query, "user_id": "u", name: content, "return_debug": True, "limit": 5}
                answer = client.post(f"/v1/memory/{endpoint}", body, format="json")
                assert answer.status_code in {200, 400, 403}, (name, content, endpoint)
                assert_shut(answer.content.decode())
    list_results = filled.post("memory/list", {"user_id": "u"})["results"]
    for path in (f"memory/{list_results[0]['id']}/history", "memory/commits", "health", "schema"):
        assert_shut(json.dumps(filled.get(path)))


def test_debug_returns_short_previews_only(filled: Agent) -> None:
    query = {"query_text": "kettle", "user_id": "u", "return_debug": True, "limit": 20}
    assert "embeddings" not in filled.post("memory/recall_text", query)["debug"]
    wide = {**query, "include_embeddings": True}
    seen = filled.post("memory/recall_text", wide)["debug"]["embeddings"]
    assert 0 < len(seen) <= 5
    assert all(each["dims"] == 384 and len(each["preview"]) == 8 for each in seen)
    least = filled.post("memory/recall_text", {**wide, "max_debug_bytes": 400})["debug"]
    assert 0 < len(json.dumps(least["embeddings"])) <= 400
    filled.post("memory/recall_text", {**wide, "limit": 21}, 400)


def test_debug_embeddings_are_throttled(filled: Agent, settings: Any) -> None:
    settings.THROTTLES = {**settings.THROTTLES, "debug": 2}
    query = {"query_text": "kettle", "return_debug": True, "include_embeddings": True, "limit": 5}
    for status in (200, 200, 429):
        filled.post("memory/recall_text", query, status)
    filled.post("memory/recall_text", {**query, "include_embeddings": False})
