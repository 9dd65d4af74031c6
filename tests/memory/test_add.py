"""Adding conversations: stored verbatim or extracted by a model."""

import json
from typing import Any

import pytest
from django.db.models.functions import Now
from pytest_django import Settings

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.outbox.models import Delivery
from memory.models import Extraction, MemoryEdge, MemoryEntry
from tests import makers
from tests.agent import Agent
from tests.fake_provider import FakeProvider
from tests.memory.chat_model import (
    add_conversation,
    current_memories,
    decision,
    fact,
    request_kind,
    run_due_jobs,
    scripted_reply,
)

TALK = [
    {"role": "system", "content": "You sell tea."},
    {"role": "user", "content": "My oolong must be lightly roasted."},
    {"role": "assistant", "content": "Noted.", "name": "Tindra"},
]
CALL = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "brew"}}]}
PICTURE = {"type": "image_url", "image_url": {"url": "https://pictures.example/roof.png"}}


@pytest.mark.parametrize(
    ("messages", "texts"),
    [
        ("I like rain.", ["I like rain."]),
        ({"role": "user", "content": "I like rain."}, ["I like rain."]),
        (TALK, ["My oolong must be lightly roasted.", "Noted."]),
        (
            [CALL, *TALK, {**CALL, "content": None}],
            ["My oolong must be lightly roasted.", "Noted."],
        ),
        ([{"role": "user", "content": [{"type": "text", "text": "a"}, "b"]}], ["a\nb"]),
    ],
)
def test_infer_false_stores_messages(agent: Agent, messages: Any, texts: list[str]) -> None:
    body = {"messages": messages, "infer": False, "user_id": "mira", "metadata": {"a": 1}}
    answer = agent.post("memory/add", body, 201)
    assert [each["text"] for each in answer["results"]] == texts
    assert (answer["status"], answer["event_id"]) == ("SUCCEEDED", None)
    roles = {each["role"] for each in answer["results"]}
    assert roles <= {"user", "assistant"}
    saved = agent.post("memory/get", {"id": answer["results"][-1]["id"]})
    assert saved["metadata"]["a"] == 1
    assert (saved["kind"], saved["visibility"], saved["user_id"]) == ("event", "user", "mira")


INVALID_MESSAGES: list[Any] = [
    [],
    7,
    None,
    ["I like rain."],
    [{"role": "wizard", "content": "x"}],
    [{"role": "user"}],
    [{"role": "user", "content": {"type": "video"}}],
    [{"role": "user", "content": {"type": "text"}}],
    [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///x"}}]}],
    [{"role": "user", "content": [{"type": "image_url", "image_url": 3}]}],
    [{"role": "user", "content": "x", "name": ["y"]}],
    [{"role": "user", "content": "x" * 50_001}],
    [{"role": "user", "content": "x"}] * 201,
    [{"role": "system", "content": "Only the system."}],
    "  ",
]


def test_rejects_invalid_messages(agent: Agent) -> None:
    for messages in INVALID_MESSAGES:
        body = {"messages": messages, "infer": False, "user_id": "mira"}
        assert agent.post("memory/add", body, 400)["issues"][0]["path"] == "messages", messages


def test_extraction_waits_for_a_chat_model(
    agent: Agent, acme: Account, settings: Settings, chat: FakeProvider
) -> None:
    settings.CHAT_MODEL = ""
    accepted = agent.post("memory/add", {"messages": TALK, "user_id": "mira"}, 202)
    assert (accepted["status"], accepted["reason"]) == ("PENDING", "no_chat_model")
    assert [each["role"] for each in accepted["results"]] == ["user", "assistant"]
    run_due_jobs()
    event = agent.get(f"events/{accepted['event_id']}")
    assert (event["state"], event["reason"], event["attempts"]) == ("PENDING", "no_chat_model", 0)
    health = agent.get("health")
    assert health["pending_extractions"] == 1
    no_model = {"ok": True, "configured": False, "vision": False, "reason": "no_chat_model"}
    assert health["chat_model"] == no_model
    hits = agent.post("memory/search", {"query": "roasted oolong", "user_id": "mira"})["results"]
    assert hits[0]["text"] == "My oolong must be lightly roasted."
    # Once a model is configured, the pending conversation is extracted.
    settings.CHAT_MODEL = "talker"
    chat.become(reply=scripted_reply([fact("The user wants oolong lightly roasted.")]))
    _make_due(acme)
    makers.settle()
    event = agent.get(f"events/{accepted['event_id']}")
    assert (event["state"], len(event["result"]["results"])) == ("SUCCEEDED", 1)
    with acting(acme):
        edges = MemoryEdge.objects.of(acme).filter(type="derived_from")
        assert {str(edge.dst_id) for edge in edges} == {e["id"] for e in accepted["results"]}
        assert Extraction.objects.get().said == {}


def _make_due(account: Account) -> None:
    with acting(account):
        Delivery.objects.of(account).open().update(due_at=Now())


def test_redacted_values_are_not_sent_to_the_model(agent: Agent, chat: FakeProvider) -> None:
    chat.become(reply=scripted_reply([]))
    event = add_conversation(agent, "Write to mira@example.test about 4111 1111 1111 1111.")
    assert (event["state"], event["result"]["results"]) == ("SUCCEEDED", [])
    text = str(chat.seen[-1]["messages"])
    assert "[email]" in text
    assert "mira@example.test" not in text
    assert "4111" not in text


def test_agent_prompt_is_used_for_agent_messages(agent: Agent, chat: FakeProvider) -> None:
    captured_messages = []

    def reply(body: Any) -> str:
        captured_messages.append(body["messages"])
        return '{"facts": []}'

    chat.become(reply=reply)
    user = {"role": "user", "content": "Hello, who are you?"}
    both = [user, {"role": "assistant", "content": "I am Tindra."}]
    for messages, ids, owner in (
        (both, {"user_id": "mira"}, "about the user"),
        ([user], {"agent_id": "bot"}, "about the user"),
        (both, {"agent_id": "bot"}, "about itself"),
    ):
        captured_messages.clear()
        add_conversation(agent, messages, **ids)
        [system, text] = captured_messages[0]
        assert owner in " ".join(system["content"].split())
        assert "Today is " in system["content"]
        assert "You sell tea" not in text["content"]


def test_skips_roles_without_messages(agent: Agent, chat: FakeProvider) -> None:
    before = chat.requests
    event = add_conversation(
        agent, [{"role": "assistant", "content": "I like rain."}], user_id="mira"
    )
    assert (event["state"], event["result"]["results"]) == ("SUCCEEDED", [])
    assert chat.requests == before


def test_images_are_described_or_rejected(
    agent: Agent, acme: Account, settings: Settings, chat: FakeProvider
) -> None:
    body = {"messages": {"role": "user", "content": PICTURE}, "user_id": "mira"}
    assert agent.post("memory/add", body, 400)["error"] == "no_vision_model"
    settings.VISION_MODEL = "seer"
    unread = agent.post("memory/add", {**body, "infer": False}, 400)
    assert unread["error"] == "picture_without_infer"

    def reply(query: Any) -> str:
        if query["model"] == "seer":
            assert query["messages"][0]["content"][1] == PICTURE
            return "A red roof in Vellmark."
        assert "A red roof in Vellmark." in query["messages"][1]["content"]
        return scripted_reply([fact("The user's roof is red.")])(query)

    chat.become(reply=reply)
    add_conversation(agent, body["messages"])
    assert current_memories(acme) == {"The user's roof is red.": "fact"}


def test_stores_a_procedural_memory(agent: Agent, acme: Account, chat: FakeProvider) -> None:
    body = {"messages": TALK, "memory_type": "procedural_memory", "user_id": "mira"}
    assert agent.post("memory/add", body, 400)["issues"][0]["path"] == "agent_id"
    record = "**Task objective**: sell tea\n\n1. **Action**: asked\n   **Result**: oolong"
    chat.become(reply=f"```markdown\n{record}\n```")
    add_conversation(agent, TALK, memory_type="procedural_memory", agent_id="bot")
    assert current_memories(acme) == {record: "procedure"}
    chat.become(reply="Whatever I am told.")
    add_conversation(
        agent, TALK, memory_type="procedural_memory", agent_id="bot", prompt="One sentence."
    )
    assert chat.seen[-1]["messages"][0]["content"] == "One sentence."
    assert "Whatever I am told." in current_memories(acme)


def test_rejects_a_procedure_without_steps(agent: Agent, acme: Account, chat: FakeProvider) -> None:
    chat.become(reply="The agent sold some tea.")
    event = add_conversation(agent, TALK, memory_type="procedural_memory", agent_id="bot")
    assert event["state"] == "FAILED"
    assert "no numbered steps" in event["last_error"]
    assert "JSON" not in chat.seen[-1]["messages"][-1]["content"]  # a procedure is not JSON
    assert current_memories(acme) == {}


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_rejects_a_procedure_that_is_cut_off(
    agent: Agent, acme: Account, chat: FakeProvider, reason: str
) -> None:
    record = "**Task objective**: sell tea\n\n1. **Action**: asked\n   **Res"
    chat.become(reply=record, finish_reason=reason)
    event = add_conversation(agent, TALK, memory_type="procedural_memory", agent_id="bot")
    assert (event["state"], event["attempts"]) == ("FAILED", 1)
    assert "cut off" in event["last_error"]
    # The model was asked for the whole record.
    assert "cut off" in chat.seen[-1]["messages"][-1]["content"]
    assert makers.get(Extraction, acme).answer == record
    assert current_memories(acme) == {}


def test_store_if_worthwhile_filters(agent: Agent, acme: Account, chat: FakeProvider) -> None:
    worth = {"type": "skill", "tags": ["tea"], "entities": []}
    memories = [
        {**worth, "content": "Steep gyokuro at 50 degrees.", "importance": 0.9},
        {**worth, "content": "The kettle is blue.", "importance": 0.2},
        {**worth, "type": "secret", "content": "Unknown kinds are refused.", "importance": 0.9},
    ]
    answer = {"should_store": True, "reasoning": "New.", "memories": memories}
    chat.become(reply=lambda body: json.dumps(answer))
    task = {"task_goal": "Brew gyokuro", "task_result": "Good at 50 °C", "execution_log": "1. boil"}
    accepted = agent.post("memory/store_if_worthwhile", {**task, "user_id": "mira"}, 202)
    run_due_jobs()
    result = agent.get(f"events/{accepted['event_id']}")["result"]
    assert current_memories(acme) == {"Steep gyokuro at 50 degrees.": "skill"}
    assert [each["item"] for each in result["dropped"]] == [1]
    assert [each["item"] for each in result["refused"]] == [2]
    endless = {"should_store": False, "reasoning": "Because " * 10_000}
    chat.become(reply=lambda body: json.dumps({**answer, **endless}))
    accepted = agent.post("memory/store_if_worthwhile", task, 202)
    run_due_jobs()
    result = agent.get(f"events/{accepted['event_id']}")["result"]
    assert (result["should_store"], len(result["reasoning"])) == (False, 500)


def test_update_by_instruction(agent: Agent, chat: FakeProvider) -> None:
    pk = agent.post("memory/store", {"text": "Mira prefers Go.", "user_id": "mira"}, 201)["id"]
    both = {"id": pk, "instruction": "Rust now.", "text": "x"}
    assert agent.post("memory/update", both, 400)["issues"][0]["path"] == "instruction"
    stale = {"id": pk, "instruction": "Rust now.", "version": 7}
    assert agent.post("memory/update", stale, 409)["error"] == "stale_version"
    chat.become(reply=json.dumps({"content": "Mira prefers Rust.", "importance": 7}))
    accepted = agent.post("memory/update", {"id": pk, "instruction": "Rust now."}, 202)
    run_due_jobs()
    assert agent.get(f"events/{accepted['event_id']}")["state"] == "SUCCEEDED"
    changed = agent.post("memory/get", {"id": pk})
    assert (changed["text"], changed["importance"]) == ("Mira prefers Rust.", 1.0)
    history = agent.get(f"memory/{pk}/history")["versions"]
    assert history[-1]["reason"] == "Rust now."


def test_account_wide_change_is_proposed(agent: Agent, acme: Account, chat: FakeProvider) -> None:
    with acting(acme):
        proposed = agent.post("memory/store", {"text": "The shop opens at nine."}, 201)
        MemoryEntry.objects.of(acme).filter(pk=proposed["id"]).update(status="active")
    chat.become(
        reply=scripted_reply(
            [fact("The shop opens at ten.")], [decision(0, "DELETE", "The shop opens at nine.")]
        )
    )
    for _ in range(2):  # a repeated statement is proposed once
        event = add_conversation(agent, "You open at ten now.", user_id="mira")
        assert event["state"] == "SUCCEEDED"
    with acting(acme):
        waiting = MemoryEntry.objects.of(acme).awaiting_review().get()
        edges = set(MemoryEdge.objects.of(acme).values_list("type", "src_id", "dst__content"))
    assert waiting.content == "The shop opens at ten."
    nine = "The shop opens at nine."
    assert edges == {("supersedes", waiting.pk, nine), ("contradicts", waiting.pk, nine)}
    assert current_memories(acme) == {nine: "fact"}


def test_each_request_has_its_response_schema(agent: Agent, chat: FakeProvider) -> None:
    agent.post("memory/store", {"text": "Mira likes rain.", "user_id": "mira"}, 201)
    chat.become(reply=scripted_reply([fact("Mira likes rain and fog.")], [decision(0, "ADD")]))
    add_conversation(agent, "I like fog too.")
    request_kinds = [request_kind(body) for body in chat.seen if "messages" in body]
    assert request_kinds == ["facts", "decisions"]
