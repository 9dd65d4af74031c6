"""Requests in the shapes of other APIs."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, ApiKey
from knowledge.actions.lore import add_entries
from knowledge.actions.sources import NewSource, ensure_source
from tests.agent import Agent

pytestmark = pytest.mark.django_db
TEXT = "Oolong is partly oxidised."


@pytest.fixture
def agent(key: tuple[ApiKey, str]) -> Agent:
    return Agent(APIClient(headers={"authorization": f"Bearer {key[1]}"}))


@pytest.mark.parametrize("source", ["docs", {"name": "docs"}])
@pytest.mark.parametrize("name", ["ref", "id", "path", "filename"])
def test_documents_of_a_source_by_its_name(agent: Agent, source: Any, name: str) -> None:
    body = {"source": source, "documents": [{name: "tea.md", "content": TEXT}]}
    answer = agent.post("knowledge/ingest", body, 201)
    assert answer["added"] == ["tea.md"]
    assert answer["source"]["name"] == "docs"
    assert "warnings" not in answer


@pytest.mark.parametrize("source", ["", " ", "a\0b", ["docs"], 5, None])
def test_a_source_that_is_no_name_is_refused(agent: Agent, source: Any) -> None:
    body = {"source": source, "documents": [{"ref": "tea.md", "text": TEXT}]}
    issues = agent.post("knowledge/ingest", body, 400)["issues"]
    assert issues[0]["path"].startswith("source")


@pytest.mark.parametrize(
    "message",
    [
        "Tell me of tea.",
        {"role": "user", "content": "Tell me of tea."},
        {"role": "user", "content": [{"type": "text", "text": "Tell me of tea."}]},
    ],
)
def test_lore_of_messages(agent: Agent, acme: Account, message: Any) -> None:
    with acting(acme):
        world = ensure_source(acme.pk, SYSTEM, NewSource(name="world", kind="lorebook"))
        add_entries(world, SYSTEM, [{"name": "Tea", "keys": ["tea"], "content": "Tea calms."}])
    answer = agent.post("knowledge/lorebook/evaluate", {"messages": [message]}, 200)
    assert [each["text"] for each in answer["results"]] == ["Tea calms."]


@pytest.mark.parametrize(
    "message", [5, {"role": "user"}, {"content": [{"type": "image_url"}]}, {"content": "a\0b"}]
)
def test_a_message_without_text_is_refused(agent: Agent, message: Any) -> None:
    answer = agent.post("knowledge/lorebook/evaluate", {"messages": ["a", message]}, 400)
    assert answer["issues"][0]["path"].startswith("messages.1")


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "tool_call_id": "c1", "name": "read", "content": TEXT},
        {"type": "function_call_output", "call_id": "c1", "tool_name": "read", "output": TEXT},
        {
            "type": "tool_result",
            "tool_use_id": "c1",
            "name": "read",
            "content": [{"type": "text", "text": TEXT}],
        },
    ],
)
def test_tool_results_as_messages(agent: Agent, message: dict[str, Any]) -> None:
    answer = agent.post("tool-results", {**message, "threshold": 5}, 201)
    assert answer["archive"]["tool_call_id"] == "c1"
    assert "warnings" not in answer
    loaded = agent.get(f"tool-results/{answer['archive']['uuid']}")
    assert loaded["content"] == TEXT
