"""Conversations on their way to a model and back: placeholders in, wanted results whole."""

from typing import Any
from uuid import uuid4

import pytest

from context.actions.settings import change_settings
from context.archives.placeholders import parse_placeholder
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from tests import makers
from tests.agent import Agent
from tests.context.test_archives import FACT, LONG
from tests.fake_provider import FakeProvider

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def threshold(acme: Account) -> None:
    """A low one: embedding takes long on a busy machine."""
    with acting(acme):
        change_settings(acme.pk, {"archive_threshold": 1_000, "language": "en"}, actor=SYSTEM)


def conversation(*results: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be kind."}]
    for number, result in enumerate(results):
        function = {"name": "search_manual", "arguments": '{"query": "kiln"}'}
        call = {"id": f"call{number}", "type": "function", "function": function}
        messages += [
            {"role": "user", "content": f"Question {number}?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call{number}", "content": result},
            {"role": "assistant", "content": "So it is."},
        ]
    return messages


def texts(answer: Any) -> list[str]:
    return [each["content"] for each in answer["messages"] if each["role"] == "tool"]


def test_a_conversation_is_prepared_and_restored(agent: Agent) -> None:
    messages = conversation(LONG, "short", LONG + "!")
    asked = {"messages": messages, "conversation_id": "c1"}
    first = agent.post("context/prepare", asked)
    uuid = parse_placeholder(texts(first)[0])
    assert [each["fresh"] for each in first["archived"]] == [True]
    assert texts(first)[1:] == ["short", LONG + "!"]  # the last turn stays whole
    assert first["tokens"]["after"] < first["tokens"]["before"]
    again = agent.post("context/prepare", asked)
    assert again["messages"] == first["messages"]
    assert [each["fresh"] for each in again["archived"]] == [False]
    loaded = agent.post("context/prepare", {**asked, "load_uuids": [str(uuid)]})
    assert loaded["messages"] == messages
    assert loaded["loaded"][0]["why"] == {"strategy": "named"}
    back = agent.post("context/restore", {**asked, "messages": loaded["messages"]})
    assert back["messages"] == first["messages"]


def test_passages_go_as_they_came(agent: Agent) -> None:
    asked = {"messages": conversation(LONG, "short"), "conversation_id": "c1"}
    first = agent.post("context/prepare", asked)
    said = {"query": "You said how hot the kiln fires?", "load": "hybrid", "max_tokens": 400}
    loaded = agent.post("context/prepare", {**asked, "messages": first["messages"], **said})
    assert loaded["loaded"][0]["part"] == "passages"
    assert FACT in texts(loaded)[0]
    back = agent.post("context/restore", {**asked, "messages": loaded["messages"]})
    assert back["messages"] == first["messages"]


def test_the_embedder_is_asked_once_whatever_is_loaded(
    agent: Agent, provider: FakeProvider
) -> None:
    """Also one that is away: whoever waits for it waits once."""
    provider.become("error")
    asked = {"messages": conversation(LONG, LONG + "?", "short"), "conversation_id": "c1"}
    first = agent.post("context/prepare", asked)
    ids = [each["uuid"] for each in first["archived"]]
    assert len(ids) == 2
    before = provider.requests
    said = {"query": "How hot is the kiln?", "load": "semantic", "max_tokens": 400}
    loaded = agent.post("context/prepare", {**asked, **said, "load_uuids": ids})
    assert [each["part"] for each in loaded["loaded"]] == ["passages", "passages"]
    assert provider.requests == before + 1


@pytest.mark.parametrize(
    ("load", "query", "loads"),
    [
        ("none", "What did you say before about the kiln?", 0),
        ("keywords", "What did you say before about the kiln degrees?", 1),
        ("keywords", "How hot is the kiln?", 0),
        ("semantic", "kiln fires degrees", 1),
        ("hybrid", "你之前说的 kiln degrees 是多少", 1),
        ("semantic", "zzz qqq", 0),
    ],
)
def test_what_is_asked_for_is_loaded_and_said_why(
    agent: Agent, load: str, query: str, loads: int
) -> None:
    asked = {"messages": conversation(LONG, "short"), "conversation_id": "c1"}
    agent.post("context/prepare", asked)
    makers.settle()
    answer = agent.post("context/prepare", {**asked, "load": load, "query": query})
    assert len(answer["loaded"]) == loads
    assert all(each["why"]["strategy"] == load for each in answer["loaded"])


def test_what_is_gone_is_said_to_be_missing(agent: Agent) -> None:
    asked = {"messages": conversation("short", "short"), "load_uuids": [str(uuid4())]}
    assert agent.post("context/prepare", asked)["loaded"][0]["part"] == "missing"


def test_messages_that_make_no_sense_are_named(agent: Agent) -> None:
    refused = agent.post("context/prepare", {"messages": [{"role": "robot"}]}, 400)
    assert "messages.0.role" in str(refused["issues"])
    agent.post("context/restore", {"messages": "all"}, 400)
    agent.post("context/restore", {}, 400)
