"""Preparation of conversations: results become placeholders, and requested ones are loaded."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from context.actions.archive_and_load_results import prepare_messages
from context.actions.insert_placeholders import Preparation, restore_placeholders
from context.archives.placeholders import parse_placeholder
from context.archives.tool_result_selection import find_references
from context.models import ToolResultArchive
from context.models.archives import ArchiveScope
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from tests import makers
from tests.agent import Agent
from tests.context.builders import configure, conversations, unpaired
from tests.context.test_archives import FACT, LONG
from tests.context.test_messages import LONG_NUMBERS, UNDECODABLE
from tests.fake_provider import FakeProvider

pytestmark = pytest.mark.usefixtures("low_threshold")


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


@pytest.mark.parametrize("arguments", [*UNDECODABLE, LONG_NUMBERS])
def test_models_may_write_any_arguments(agent: Agent, arguments: str) -> None:
    messages = conversation(LONG, "short")
    messages[2]["tool_calls"][0]["function"]["arguments"] = arguments
    body = {"messages": messages, "conversation_id": "c1"}
    prepared = agent.post("context/prepare", body)
    assert len(prepared["archived"]) == 1
    assembled = agent.post("context/assemble", {**body, "sources": []}, 201)
    calls = [each.get("tool_calls") for each in assembled["messages"]]
    assert messages[2]["tool_calls"] in calls


def test_conversation_is_prepared_and_restored(agent: Agent, acme: Account) -> None:
    messages = conversation(LONG, "short", LONG + "!")
    body = {"messages": messages, "conversation_id": "c1"}
    first = agent.post("context/prepare", body)
    uuid = parse_placeholder(texts(first)[0])
    assert [each["fresh"] for each in first["archived"]] == [True]
    assert texts(first)[1:] == ["short", LONG + "!"]  # the last turn stays whole
    assert first["tokens"]["after"] < first["tokens"]["before"]
    again = agent.post("context/prepare", body)
    assert again["messages"] == first["messages"]
    assert [each["fresh"] for each in again["archived"]] == [False]
    loaded = agent.post("context/prepare", {**body, "load_uuids": [str(uuid)]})
    assert loaded["messages"] == messages
    assert loaded["loaded"][0]["why"] == {"strategy": "named"}
    assert makers.get(ToolResultArchive, acme).load_count == 1
    back = agent.post("context/restore", {**body, "messages": loaded["messages"]})
    assert back["messages"] == first["messages"]


def test_results_of_repeated_call_ids_belong_to_the_call_before_them(
    agent: Agent, acme: Account
) -> None:
    messages = conversation(LONG, f"{LONG}!", "short")
    for message, name in ((messages[2], "search_manual"), (messages[6], "read_page")):
        [call] = message["tool_calls"]
        call["id"], call["function"] = "same", {"name": name, "arguments": f'{{"by": "{name}"}}'}
    messages[3]["tool_call_id"] = messages[7]["tool_call_id"] = "same"
    agent.post("context/prepare", {"messages": messages, "conversation_id": "c1"})
    archives = makers.rows(ToolResultArchive, acme)
    names = {archive.tool_name: archive.tool_input for archive in archives}
    assert names == {"search_manual": {"by": "search_manual"}, "read_page": {"by": "read_page"}}


def test_result_of_another_conversation_is_archived_again(agent: Agent, acme: Account) -> None:
    """Each conversation has its own archive, so that erasing one leaves the other."""
    configure(acme, across_conversations=True)
    body = {"messages": conversation(LONG, "short"), "conversation_id": "c1"}
    [first] = agent.post("context/prepare", body)["archived"]
    [other] = agent.post("context/prepare", {**body, "conversation_id": "c2"})["archived"]
    own = {"conversation_id": "c2", "messages": body["messages"]}
    [restored] = agent.post("context/restore", own)["archived"]
    assert (other["fresh"], restored["uuid"]) == (True, other["uuid"])
    assert other["uuid"] != first["uuid"]
    loaded = agent.post("context/prepare", {**own, "load_uuids": [first["uuid"]]})["loaded"]
    assert loaded[0]["part"] == "whole"


def test_loaded_results_are_limited_in_all_their_places(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"messages": conversation(LONG, "short"), "conversation_id": "c1"}
    first = agent.post("context/prepare", body)
    placeholder, uuid = texts(first)[0], first["archived"][0]["uuid"]
    body = {"messages": conversation(placeholder, placeholder), "conversation_id": "c1"}
    monkeypatch.setattr("context.actions.archive_and_load_results.MAX_LOADED", 2 * len(LONG))
    assert texts(agent.post("context/prepare", {**body, "load_uuids": [uuid]})) == [LONG, LONG]
    monkeypatch.setattr("context.actions.archive_and_load_results.MAX_LOADED", 2 * len(LONG) - 1)
    refused = agent.post("context/prepare", {**body, "load_uuids": [uuid]}, 413)
    assert refused["error"] == "too_large"


def test_inputs_of_calls_are_limited(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("context.actions.match_archived_results.MAX_INPUTS", 40)
    messages = conversation("one", "two")
    messages[3]["content"] = [{"type": "text", "text": f"{LONG}{number}"} for number in range(3)]
    body = {"messages": messages, "conversation_id": "c1"}
    archived = agent.post("context/prepare", body)["archived"]
    loaded = [agent.get(f"tool-results/{each['uuid']}") for each in archived]
    assert [each["content"] for each in loaded] == [f"{LONG}{number}" for number in range(3)]
    inputs = [each["tool_input"] for each in loaded]
    assert inputs == [{"query": "kiln"}, {"query": "kiln"}, None]


def test_loaded_passages_become_placeholders_again(agent: Agent) -> None:
    body = {"messages": conversation(LONG, "short"), "conversation_id": "c1"}
    first = agent.post("context/prepare", body)
    query = {"query": "You said how hot the kiln fires?", "load": "hybrid", "max_tokens": 400}
    loaded = agent.post("context/prepare", {**body, "messages": first["messages"], **query})
    assert loaded["loaded"][0]["part"] == "passages"
    assert FACT in texts(loaded)[0]
    back = agent.post("context/restore", {**body, "messages": loaded["messages"]})
    assert back["messages"] == first["messages"]


def test_loaded_result_fits_its_tokens(agent: Agent) -> None:
    body: dict[str, Any] = {"messages": conversation(LONG, "short"), "conversation_id": "c1"}
    body["messages"] += [{"role": "user", "content": "How hot is the kiln?"}]
    first = agent.post("context/prepare", body)
    body["load_uuids"] = [first["archived"][0]["uuid"]]
    for query in ({"query": "How hot is the kiln?"}, {}):
        for most in (50, 80, 150):
            [loaded] = agent.post("context/prepare", {**body, **query, "max_tokens": most})[
                "loaded"
            ]
            assert loaded["part"] == "passages", (query, most)
            assert loaded["tokens"] <= most, query


def test_passages_need_a_query(agent: Agent) -> None:
    messages = conversation(LONG, "short")
    body = {"messages": [each for each in messages if each["role"] != "user"]}
    load = {"load_uuids": [str(uuid4())], "max_tokens": 500}
    refused = agent.post("context/prepare", {**body, **load}, 400)
    assert refused["issues"][0]["path"] == "query"


def test_query_is_embedded_once(agent: Agent, provider: FakeProvider) -> None:
    """The request waits for an unavailable embedder only once."""
    provider.become("error")
    body = {"messages": conversation(LONG, LONG + "?", "short"), "conversation_id": "c1"}
    first = agent.post("context/prepare", body)
    ids = [each["uuid"] for each in first["archived"]]
    assert len(ids) == 2
    before = provider.requests
    query = {"query": "How hot is the kiln?", "load": "semantic", "max_tokens": 400}
    loaded = agent.post("context/prepare", {**body, **query, "load_uuids": ids})
    assert [each["part"] for each in loaded["loaded"]] == ["passages", "passages"]
    assert provider.requests == before + 1


def test_requested_results_are_loaded_with_the_reason(agent: Agent) -> None:
    body = {"messages": conversation(LONG, "short"), "conversation_id": "c1"}
    agent.post("context/prepare", body)
    makers.settle()
    for load, query, loads in (
        ("none", "What did you say before about the kiln?", 0),
        ("keywords", "What did you say before about the kiln degrees?", 1),
        ("keywords", "How hot is the kiln?", 0),
        ("semantic", "kiln fires degrees", 1),
        ("hybrid", "你之前说的 kiln degrees 是多少", 1),
        ("semantic", "zzz qqq", 0),
    ):
        answer = agent.post("context/prepare", {**body, "load": load, "query": query})
        assert len(answer["loaded"]) == loads, (load, query)
        assert all(each["why"]["strategy"] == load for each in answer["loaded"])


@pytest.mark.parametrize(
    ("load", "message"),
    [
        ("keywords", "What did you say before about the kiln degrees?"),
        ("semantic", "kiln fires degrees"),
        ("hybrid", "你之前说的 kiln degrees 是多少"),
    ],
)
def test_results_about_the_last_user_message_are_loaded(
    agent: Agent, load: str, message: str
) -> None:
    messages = conversation(LONG, "short")
    body = {"messages": messages, "conversation_id": "c1"}
    agent.post("context/prepare", body)
    makers.settle()
    body["messages"] = [*messages, {"role": "user", "content": message}]
    answer = agent.post("context/prepare", {**body, "load": load})
    assert [each["why"]["strategy"] for each in answer["loaded"]] == [load]
    body["messages"] = [each for each in messages if each["role"] != "user"]
    assert agent.post("context/prepare", {**body, "load": load})["loaded"] == []


def test_unknown_result_is_missing(agent: Agent) -> None:
    body = {"messages": conversation("short", "short"), "load_uuids": [str(uuid4())]}
    assert agent.post("context/prepare", body)["loaded"][0]["part"] == "missing"


def test_rejects_invalid_messages(agent: Agent) -> None:
    refused = agent.post("context/prepare", {"messages": [{"role": "robot"}]}, 400)
    assert refused["issues"][0]["path"] == "messages.0.role"
    assert refused["message"].startswith("messages.0.role: is not one of assistant, ")
    agent.post("context/restore", {"messages": "all"}, 400)
    agent.post("context/restore", {}, 400)


WITHIN = ArchiveScope(conversation_id="c1")
THRESHOLD = 300
NUMBERS = [120, pytest.param(1_000, marks=pytest.mark.long)]  # of examples
FIRST = ("a", "窑", "k", "")
RESULTS = [(f"{word} 茶 tea 👨‍👩‍👧 " * 30)[: 290 + 40 * at] for at, word in enumerate(FIRST)]


def filled(messages: list[dict[str, Any]], texts: list[str]) -> list[dict[str, Any]]:
    """Replace the tool results of a conversation by these texts, in turn."""
    replacements = iter(texts)

    def put(content: Any) -> Any:
        text = next(replacements, "short")
        return text if isinstance(content, str) else [{"type": "text", "text": text}]

    for message in messages:
        if message["role"] == "tool":
            message["content"] = put(message["content"])
        elif isinstance(message["content"], list):
            for part in message["content"]:
                if part["type"] == "tool_result":
                    part["content"] = put(part["content"])
    return messages


long_talks = st.builds(
    filled, conversations(most=3), st.lists(st.sampled_from([*RESULTS, "short"]), max_size=12)
)


@pytest.fixture
def account(acme: Account) -> Account:
    configure(acme, archive_threshold=THRESHOLD)
    return acme


def preparation(keep_turns: int, references: Sequence[UUID] = ()) -> Preparation:
    return Preparation(within=WITHIN, keep_turns=keep_turns, load_uuids=references)


@pytest.mark.parametrize("number", NUMBERS)
def test_placeholders_are_restored_exactly(account: Account, number: int) -> None:
    @given(long_talks, st.integers(0, 2))
    @examples(max_examples=number, database=None)
    def each(messages: list[dict[str, Any]], keep_turns: int) -> None:
        check(account, messages, keep_turns)

    each()


def check(account: Account, messages: list[dict[str, Any]], keep_turns: int) -> None:
    short = prepare_messages(account.pk, SYSTEM, messages, preparation(keep_turns)).messages
    assert unpaired(short) == unpaired(messages)
    references = list(find_references(short))
    whole, loading = short, preparation(keep_turns, references)
    if references:
        whole = prepare_messages(account.pk, SYSTEM, short, loading).messages
    assert whole == messages
    with acting(account):  # every archived result becomes a placeholder, also in the last turns
        placeholders = restore_placeholders(account.pk, whole, WITHIN).messages
    if placeholders != short:
        references = list(find_references(placeholders))
        whole = prepare_messages(
            account.pk, SYSTEM, placeholders, preparation(keep_turns, references)
        ).messages
        assert whole == messages
    with acting(account):
        assert restore_placeholders(account.pk, placeholders, WITHIN).messages == placeholders
