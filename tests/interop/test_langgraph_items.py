"""Items of a LangGraph store that share a text."""

from typing import Any

import pytest
from django.test import Client

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
