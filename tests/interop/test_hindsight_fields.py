"""Fields of Hindsight's requests have the effect that its client documents."""

from collections import Counter
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from interop.hindsight import operations
from tests.fake_provider import FakeProvider
from tests.memory.chat_model import configure_chat

BANK = "/v1/default/banks/b"


def post(agent: Client, path: str, **body: Any) -> Any:
    answer = agent.post(f"{BANK}/{path}", body, "application/json")
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_memories_outside_the_temporal_window_are_recalled(agent: Client) -> None:
    item = {"content": "Mira drinks tea.", "timestamp": "2020-01-01T00:00:00Z"}
    post(agent, "memories", items=[item], **{"async": True})
    window = {"start": "2026-01-01T00:00:00Z", "end": "2027-01-01T00:00:00Z"}
    recalled = post(agent, "memories/recall", query="Does Mira drink tea?", temporal_window=window)
    assert [each["text"] for each in recalled["results"]] == ["Mira drinks tea."]


def test_metadata_of_other_clients_are_texts(agent: Client) -> None:
    """The client refuses the whole response if one of them is not."""
    memory = {"text": "Mira drinks tea.", "agent_id": "b", "visibility": "user"}
    metadata = {"context": {"room": 1}, "document_id": 7, "n": 5}
    body = {**memory, "metadata": metadata}
    assert agent.post("/v1/memory/store", body, "application/json").status_code == 201
    [hit] = post(agent, "memories/recall", query="Does Mira drink tea?")["results"]
    assert (hit["context"], hit["document_id"]) == ("{'room': 1}", "7")
    assert hit["metadata"] == {"n": "5"}


def test_memories_of_a_bank_are_counted_by_their_types_of_facts(agent: Client) -> None:
    for kind in ("fact", "preference", "event", "concept"):
        body = {"text": f"Mira and tea, a {kind}.", "kind": kind, "agent_id": "b"}
        body["visibility"] = "user"
        assert agent.post("/v1/memory/store", body, "application/json").status_code == 201
    stats = agent.get(f"{BANK}/stats").json()
    listed = agent.get(f"{BANK}/memories/list").json()["items"]
    assert stats["total_nodes"] == len(listed) == 4
    assert stats["nodes_by_fact_type"] == Counter(each["fact_type"] for each in listed)
    assert stats["nodes_by_fact_type"] == {"world": 2, "experience": 1, "observation": 1}


def test_reflection_uses_the_named_types_of_facts(
    agent: Client, settings: Settings, provider: FakeProvider
) -> None:
    configure_chat(settings, provider)
    provider.become(reply="Tea.")
    items = [
        {"content": "Mira drinks tea."},
        {"content": "Mira spilt tea.", "strategy": "experience"},
    ]
    post(agent, "memories", items=items, **{"async": True})
    query = {"query": "What about Mira and tea?"}
    assert len(post(agent, "reflect", **query)["based_on"]["memories"]) == 2
    [fact] = post(agent, "reflect", **query, fact_types=["experience"])["based_on"]["memories"]
    assert fact["text"] == "Mira spilt tea."
    body = {**query, "fact_types": "experience"}
    refused = agent.post(f"{BANK}/reflect", body, "application/json")
    assert (refused.status_code, refused.json()["issues"][0]["path"]) == (400, "fact_types")


def test_a_schema_that_the_model_refuses_is_a_400(
    agent: Client, settings: Settings, provider: FakeProvider
) -> None:
    configure_chat(settings, provider)
    provider.become("no_schema", reply="Tea.")
    post(agent, "memories", items=[{"content": "Mira drinks tea."}], **{"async": True})
    body = {"query": "What does Mira drink?"}
    assert post(agent, "reflect", **body)["text"] == "Tea."
    refused = agent.post(
        f"{BANK}/reflect", {**body, "response_schema": {"type": "object"}}, "application/json"
    )
    assert (refused.status_code, refused.json()["issues"][0]["path"]) == (400, "response_schema")


@pytest.mark.parametrize("schema", [None, {"type": "object"}])
def test_an_answer_that_is_cut_off_is_a_503(
    schema: Any, agent: Client, settings: Settings, provider: FakeProvider
) -> None:
    configure_chat(settings, provider)
    provider.become(reply="Mira drinks", finish_reason="length")
    post(agent, "memories", items=[{"content": "Mira drinks tea."}], **{"async": True})
    body = {"query": "What does Mira drink?", "response_schema": schema}
    refused = agent.post(f"{BANK}/reflect", body, "application/json")
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
    assert "cut off" in refused.json()["message"]


def test_state_of_an_operation_does_not_depend_on_other_jobs(
    agent: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operations, "MAX_JOBS", 1)
    retained = [
        post(agent, "memories", items=[{"content": text}], **{"async": True})
        for text in ("Tea.", "Milk.")
    ]
    for each in retained:
        operation = agent.get(f"{BANK}/operations/{each['operation_id']}").json()
        assert operation["status"] == "pending"
