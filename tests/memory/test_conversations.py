"""Forty conversations with a scripted model: what it decides, and what is remembered after."""

import pytest
from pytest_django import Settings

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from memory.actions.settings import update_policy
from memory.models import MemoryEdge, MemoryEntry
from tests.agent import Agent
from tests.fake_provider import FakeProvider
from tests.memory.conversations import DOG, MOVED, TALKS, WORK
from tests.memory.talking import Said, decision, fact, known, script, told, with_chat


@pytest.mark.parametrize("name", TALKS)
def test_conversation_changes_memories_as_expected(
    name: str, agent: Agent, acme: Account, settings: Settings, provider: FakeProvider
) -> None:
    talk = TALKS[name]
    with_chat(settings, provider)
    if talk.before:
        nodes = [{"text": text, "user_id": "mira"} for text in talk.before]
        agent.post("memory/write", {"nodes": nodes}, 201)
    provider.become(reply=script(talk.facts, talk.decisions))
    event = told(agent, talk.said)
    assert event["state"] == "SUCCEEDED", event
    assert [each["event"] for each in event["result"]["results"]] == talk.events
    assert len(event["result"]["refused"]) == talk.refused, event["result"]
    assert set(known(acme)) == talk.after
    assert agent.get("memory/verify")["ok"]


def test_there_are_at_least_forty_conversations() -> None:
    assert len(TALKS) >= 40


def test_contradicted_memory_is_superseded(
    agent: Agent, acme: Account, settings: Settings, provider: FakeProvider
) -> None:
    with_chat(settings, provider)
    old = agent.post("memory/store", {"text": WORK, "user_id": "mira"}, 201)["id"]
    provider.become(
        reply=script([fact(MOVED)], [decision(0, "DELETE", WORK, reason="A new employer.")])
    )
    [result] = told(agent, "Harrow Glass!")["result"]["results"]
    assert (result["supersedes"], result["text"]) == (old, MOVED)
    with acting(acme):
        before = MemoryEntry.objects.get(pk=old)
        edges = MemoryEdge.objects.of(acme).filter(src=result["id"], dst=old)
        assert set(edges.values_list("type", flat=True)) == {"supersedes", "contradicts"}
        assert {edge.commit_id for edge in edges} == {before.commit_id}
    assert before.status == "superseded"
    versions = agent.get(f"memory/{result['id']}/history")["versions"]
    assert versions[0]["reason"] == "A new employer."


def test_pinned_memory_is_not_superseded(
    agent: Agent, acme: Account, settings: Settings, provider: FakeProvider
) -> None:
    with_chat(settings, provider)
    old = agent.post("memory/store", {"text": WORK, "user_id": "mira"}, 201)["id"]
    with acting(acme):
        MemoryEntry.objects.filter(pk=old).update(pinned=True)
    provider.become(reply=script([fact(MOVED)], [decision(0, "DELETE", WORK)]))
    told(agent, "Harrow Glass!")
    assert set(known(acme)) == {WORK, MOVED}
    with acting(acme):
        assert MemoryEdge.objects.of(acme).get().type == "contradicts"


def test_other_users_memories_are_not_sent_to_the_model(
    agent: Agent, acme: Account, settings: Settings, provider: FakeProvider
) -> None:
    with_chat(settings, provider)
    agent.post("memory/store", {"text": WORK, "user_id": "nils"}, 201)
    provider.become(reply=script([fact(MOVED)], [decision(0, "DELETE", 0)]))
    event = told(agent, "Harrow Glass!")
    assert [each["event"] for each in event["result"]["results"]] == ["ADD"]
    assert set(known(acme)) == {WORK, MOVED}
    assert WORK not in str([body for body in provider.seen if "messages" in body])


def test_mentioned_entities_are_linked(
    agent: Agent, acme: Account, settings: Settings, provider: FakeProvider
) -> None:
    with_chat(settings, provider)
    entity = {"text": "Bolt", "kind": "entity", "user_id": "mira"}
    bolt = agent.post("memory/store", entity, 201)["id"]
    provider.become(reply=script([fact(DOG, entities=["bolt", "Mira", "Bolt"])]))
    told(agent, "I have Bolt.")
    with acting(acme):
        edge = MemoryEdge.objects.of(acme).get(type="mentions")
        assert (str(edge.dst_id), edge.src.entities) == (bolt, ["bolt", "Mira", "Bolt"])


def test_account_instructions_and_categories_are_used(
    agent: Agent, acme: Account, settings: Settings, provider: FakeProvider
) -> None:
    with_chat(settings, provider)
    wanted = {"instructions": "Note order numbers.", "categories": {"orders": "what was bought"}}
    with acting(acme):
        update_policy(acme.pk, wanted, actor=SYSTEM)
    systems: list[str] = []
    answer = script([fact("Order 7 was a kettle.", category="orders"), fact("Mira is tall.")])

    def reply(body: Said) -> str:
        systems.append(body["messages"][0]["content"])
        return answer(body)

    provider.become(reply=reply)
    result = told(agent, "I bought a kettle, order 7.")["result"]
    assert "Note order numbers." in systems[0]
    assert "- orders: what was bought" in systems[0]
    assert "- health:" not in systems[0]  # our own give way to theirs
    assert [each["reason"] for each in result["refused"]] == [
        "has none of the configured categories"
    ]
    with acting(acme):
        [kept] = MemoryEntry.objects.all()
    assert (kept.content, kept.tags) == ("Order 7 was a kettle.", ["orders"])
