"""Memory operations of the official Aionis client; tests/rules/test_client.py has the rules."""

from typing import Any
from uuid import uuid4

import pytest
from aionis_sdk import AionisClient
from aionis_sdk.client import AionisApiError

from kmapp.accounts.models import Account, ApiKey
from kmapp.providers.active_models import active_model
from kmapp.providers.embedding import OpenAIEmbedder
from memory.models import MemoryEntry
from tests import makers

pytestmark = pytest.mark.usefixtures("module_commits")

NUTS = {
    "client_id": "nuts",
    "type": "event",
    "title": "Allergy",
    "text_summary": "Ann is allergic to peanuts.",
}
TITLE_ONLY = {"client_id": "menu", "type": "evidence", "title": "The menu lists peanut soup."}
EDGE = {"type": "related_to", "src": {"client_id": "nuts"}, "dst": {"client_id": "menu"}}
BATCH = {
    "scope": "default",
    "input_text": "a conversation about lunch",
    "memory_lane": "private",
    "owner_agent_id": "bot-7",
    "nodes": [NUTS, TITLE_ONLY],
    "edges": [EDGE],
}
READER = {"scope": "default", "consumer_agent_id": "bot-7"}


@pytest.fixture
def client(site: str, key: tuple[ApiKey, str]) -> Any:
    return AionisClient(base_url=site, api_key=key[1])


@pytest.fixture
def written(client: Any) -> dict[str, str]:
    """The IDs of the written nodes by client ID, ready for search by meaning."""
    nodes = client.write(BATCH)["data"]["nodes"]
    makers.settle()
    return {node["client_id"]: node["id"] for node in nodes}


def test_writes_a_batch_once(client: Any, acme: Account) -> None:
    first, again = client.write(BATCH), client.write(BATCH)
    assert (first["status"], again["status"]) == (201, 200)
    assert again["data"]["nodes"] == first["data"]["nodes"]
    assert makers.count(MemoryEntry, acme) == 2
    titled = makers.get(MemoryEntry, acme, client_id="menu")
    assert titled.content == TITLE_ONLY["title"], "a node without text is its title"
    with pytest.raises(AionisApiError) as refused:
        client.write({**BATCH, "nodes": [{**NUTS, "title": "Other"}]})
    assert (refused.value.status, refused.value.code) == (409, "client_id_conflict")


def test_stores_a_repeated_request_once(client: Any, acme: Account) -> None:
    """The client repeats a write after a lost connection, with the same request ID."""
    nuts = {name: value for name, value in NUTS.items() if name != "client_id"}
    body = {**BATCH, "nodes": [nuts], "edges": []}
    trace = {"request_id": str(uuid4())}
    first, again = client.write(body, **trace), client.write(body, **trace)
    assert again["data"] == first["data"]
    assert makers.count(MemoryEntry, acme) == 1
    client.write({**body, "nodes": [{**nuts, "title": "Other"}]}, **trace)
    assert makers.count(MemoryEntry, acme) == 2
    client.write(body)
    assert makers.count(MemoryEntry, acme) == 3


def test_recalls_the_subgraph_of_a_text_or_a_vector(client: Any, written: dict[str, str]) -> None:
    question = "Which food is Ann allergic to?"
    by_text = client.recall_text({**READER, "query_text": question})["data"]
    assert by_text["query"] == {"text": question, "embedding_provider": active_model().name}
    [vector] = OpenAIEmbedder.for_queries(active_model()).embed([question], kind="query")
    by_vector = client.recall({**READER, "query_embedding": vector})["data"]
    for recalled in (by_text, by_vector):
        nodes, edges = recalled["subgraph"]["nodes"], recalled["subgraph"]["edges"]
        assert {node["id"] for node in nodes} == set(written.values())
        assert [(edge["from_id"], edge["to_id"]) for edge in edges] == [
            (written["nuts"], written["menu"])
        ]
        assert recalled["seeds"][0]["id"] == written["nuts"]
        assert all(node["uri"].startswith("aionis://") for node in nodes)
        assert "allergic to peanuts" in recalled["context"]["text"]
    with pytest.raises(AionisApiError) as refused:
        client.recall({**READER, "query_embedding": [0.5, 0.5]})
    assert (refused.value.status, refused.value.code) == (400, "invalid_request")


def test_rates_a_memory_and_asks_for_health(client: Any, written: dict[str, str]) -> None:
    rating = {"id": written["nuts"], "outcome": "positive", "reason": "It was right."}
    rated = client.feedback({**rating, **READER})
    assert (rated["status"], rated["data"]["outcome"]) == (201, "positive")
    assert client.health()["status"] == 200
