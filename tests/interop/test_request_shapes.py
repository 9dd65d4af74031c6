"""Requests in the shapes of other APIs."""

from itertools import product
from typing import Any

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from knowledge.actions.lore import add_entries
from knowledge.actions.sources import NewSource, ensure_source
from tests import makers
from tests.agent import Agent

pytestmark = pytest.mark.django_db
TEXT = "Oolong is partly oxidised."


@pytest.fixture
def agent(acme: Account) -> Agent:
    return makers.agent(acme)


def test_documents_of_a_source_by_its_name(agent: Agent) -> None:
    names, sources = ("ref", "id", "path", "filename"), ("docs", {"name": "docs"})
    for number, (source, name) in enumerate(product(sources, names)):
        ref = f"tea{number}.md"
        body = {"source": source, "documents": [{name: ref, "content": f"{TEXT} {number}"}]}
        answer = agent.post("knowledge/ingest", body, 201)
        assert answer["added"] == [ref], body
        assert answer["source"]["name"] == "docs", body
        assert "warnings" not in answer, body


def test_a_source_that_is_no_name_is_refused(agent: Agent) -> None:
    sources: tuple[Any, ...] = ("", " ", "a\0b", ["docs"], 5, None)
    for source in sources:
        body = {"source": source, "documents": [{"ref": "tea.md", "text": TEXT}]}
        issues = agent.post("knowledge/ingest", body, 400)["issues"]
        assert issues[0]["path"].startswith("source"), source


def test_lore_of_messages_with_text(agent: Agent, acme: Account) -> None:
    with acting(acme):
        world = ensure_source(acme.pk, SYSTEM, NewSource(name="world", kind="lorebook"))
        add_entries(world, SYSTEM, [{"name": "Tea", "keys": ["tea"], "content": "Tea calms."}])
    text = "Tell me of tea."
    for content in (text, [{"type": "text", "text": text}]):
        for message in (text, {"role": "user", "content": content}):
            answer = agent.post("knowledge/lorebook/evaluate", {"messages": [message]}, 200)
            assert [each["text"] for each in answer["results"]] == ["Tea calms."], message
    for invalid in (
        *(5, {"role": "user"}),
        *({"content": [{"type": "image_url"}]}, {"content": "a\0b"}),
    ):
        answer = agent.post("knowledge/lorebook/evaluate", {"messages": ["a", invalid]}, 400)
        assert answer["issues"][0]["path"].startswith("messages.1"), invalid


def test_tool_results_as_messages(agent: Agent) -> None:
    block = {"type": "text", "text": TEXT}
    messages: tuple[dict[str, Any], ...] = (
        {"role": "tool", "tool_call_id": "c1", "name": "read", "content": TEXT},
        {"type": "function_call_output", "call_id": "c2", "tool_name": "read", "output": TEXT},
        {"type": "tool_result", "tool_use_id": "c3", "name": "read", "content": [block]},
    )
    for number, message in enumerate(messages, 1):
        answer = agent.post("tool-results", {**message, "threshold": 5}, 201)
        assert answer["archive"]["tool_call_id"] == f"c{number}"
        assert "warnings" not in answer, message
        loaded = agent.get(f"tool-results/{answer['archive']['uuid']}")
        assert loaded["content"] == TEXT, message
