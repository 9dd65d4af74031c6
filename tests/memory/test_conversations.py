"""Conversations with a scripted model."""

from django.db.models.functions import Now
from pytest_django import Settings

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.outbox.failed_deliveries import retry_deliveries
from kmapp.outbox.models import Delivery
from kmapp.search.query_vector import fails_for_this_text_only
from memory.models import Extraction, MemoryEdge, MemoryEntry
from tests import makers
from tests.agent import Agent
from tests.fake_provider import FakeProvider
from tests.memory.chat_model import (
    RequestBody,
    add_conversation,
    current_memories,
    decision,
    fact,
    request_kind,
    run_due_jobs,
    scripted_reply,
)
from tests.memory.conversations import CONVERSATIONS, DOG, MOVED, TEA, TEAS, WHITE, WORK


def test_conversations(agent: Agent, acme: Account, chat: FakeProvider) -> None:
    """Each conversation belongs to a different user."""
    for number, (name, expected) in enumerate(CONVERSATIONS.items()):
        user = {"user_id": f"mira{number}"}
        if expected.before:
            agent.write(*expected.before, **user)
        chat.become(reply=scripted_reply(expected.facts, expected.decisions))
        event = add_conversation(agent, expected.message, **user)
        assert event["state"] == "SUCCEEDED", (name, event)
        assert [each["event"] for each in event["result"]["results"]] == expected.events, name
        assert len(event["result"]["refused"]) == expected.refused, (name, event["result"])
        assert set(current_memories(acme, **user)) == expected.after, name
    assert agent.get("memory/verify")["ok"]
    assert len(CONVERSATIONS) >= 40


def test_contradicted_memory_is_superseded(agent: Agent, acme: Account, chat: FakeProvider) -> None:
    old = agent.post("memory/store", {"text": WORK, "user_id": "mira"}, 201)["id"]
    chat.become(
        reply=scripted_reply([fact(MOVED)], [decision(0, "DELETE", WORK, reason="A new employer.")])
    )
    [result] = add_conversation(agent, "Harrow Glass!")["result"]["results"]
    assert (result["supersedes"], result["text"]) == (old, MOVED)
    with acting(acme):
        before = MemoryEntry.objects.get(pk=old)
        edges = MemoryEdge.objects.of(acme).filter(src=result["id"], dst=old)
        assert set(edges.values_list("type", flat=True)) == {"supersedes", "contradicts"}
        assert {edge.commit_id for edge in edges} == {before.commit_id}
    assert before.status == "superseded"
    versions = agent.get(f"memory/{result['id']}/history")["versions"]
    assert versions[0]["reason"] == "A new employer."


def test_pinned_memory_is_not_superseded(agent: Agent, acme: Account, chat: FakeProvider) -> None:
    old = agent.post("memory/store", {"text": WORK, "user_id": "mira"}, 201)["id"]
    makers.update(MemoryEntry, acme, {"pk": old}, pinned=True)
    chat.become(reply=scripted_reply([fact(MOVED)], [decision(0, "DELETE", WORK)]))
    add_conversation(agent, "Harrow Glass!")
    assert set(current_memories(acme)) == {WORK, MOVED}
    assert makers.get(MemoryEdge, acme).type == "contradicts"


def test_model_sees_no_other_users(agent: Agent, acme: Account, chat: FakeProvider) -> None:
    agent.post("memory/store", {"text": WORK, "user_id": "nils"}, 201)
    chat.become(reply=scripted_reply([fact(MOVED)], [decision(0, "DELETE", 0)]))
    event = add_conversation(agent, "Harrow Glass!")
    assert [each["event"] for each in event["result"]["results"]] == ["ADD"]
    assert set(current_memories(acme)) == {WORK, MOVED}
    assert WORK not in str([body for body in chat.seen if "messages" in body])


def test_mentioned_entities_are_linked(agent: Agent, acme: Account, chat: FakeProvider) -> None:
    entity = {"text": "Bolt", "kind": "entity", "user_id": "mira"}
    bolt = agent.post("memory/store", entity, 201)["id"]
    chat.become(reply=scripted_reply([fact(DOG, entities=["bolt", "Mira", "Bolt"])]))
    add_conversation(agent, "I have Bolt.")
    with acting(acme):
        edge = MemoryEdge.objects.of(acme).get(type="mentions")
        assert (str(edge.dst_id), edge.src.entities) == (bolt, ["bolt", "Mira", "Bolt"])


def test_entities_of_an_update_are_redacted(
    agent: Agent, acme: Account, chat: FakeProvider
) -> None:
    agent.post("memory/store", {"text": TEA, "user_id": "mira"}, 201)
    with_phone = fact(WHITE, entities=["Mira", "13812345678"])
    chat.become(reply=scripted_reply([with_phone], [decision(0, "UPDATE", TEA, text=TEAS)]))
    add_conversation(agent, "And white tea.")
    updated = makers.get(MemoryEntry, acme)
    assert (updated.content, updated.entities) == (TEAS, ["Mira", "[phone]"])


def test_account_settings_are_used(agent: Agent, acme: Account, chat: FakeProvider) -> None:
    required = {"instructions": "Note order numbers.", "categories": {"orders": "what was bought"}}
    makers.set_policy(acme, required)
    systems: list[str] = []
    answer = scripted_reply(
        [fact("Order 7 was a kettle.", category="orders"), fact("Mira is tall.")]
    )

    def reply(body: RequestBody) -> str:
        systems.append(body["messages"][0]["content"])
        return answer(body)

    chat.become(reply=reply)
    result = add_conversation(agent, "I bought a kettle, order 7.")["result"]
    assert "Note order numbers." in systems[0]
    assert "- orders: what was bought" in systems[0]
    assert "- health:" not in systems[0]  # a built-in category, which the account's replace
    assert [each["reason"] for each in result["refused"]] == [
        "has none of the configured categories"
    ]
    with acting(acme):
        [saved] = MemoryEntry.objects.all()
    assert (saved.content, saved.tags) == ("Order 7 was a kettle.", ["orders"])


CAT = "Mira has a cat."


def _count_requests(chat: FakeProvider, kind: str) -> int:
    return sum("messages" in body and request_kind(body) == kind for body in chat.seen)


def test_facts_are_extracted_once_despite_an_outage_of_the_embedder(
    agent: Agent, acme: Account, chat: FakeProvider, settings: Settings
) -> None:
    agent.post("memory/store", {"text": DOG, "user_id": "mira"}, 201)
    with_phone = fact(CAT, importance=1.0, entities=["13812345678"])
    chat.become(reply=scripted_reply([with_phone], [decision(0, "ADD")]))
    settings.EMBEDDING_BASE_URL = "http://127.0.0.1:9/v1"  # nothing answers
    event = add_conversation(agent, "I have a cat.")
    assert (event["state"], event["reason"]) == ("PENDING", "km_provider_error")
    [[_number, stored]] = makers.get(Extraction, acme).said["facts"]["items"]
    assert (stored["text"], stored["entities"]) == (CAT, ["[phone]"])
    settings.EMBEDDING_BASE_URL = chat.url
    with acting(acme):
        Delivery.objects.of(acme).open().update(due_at=Now())
    run_due_jobs()
    event = agent.get(f"events/{event['id']}")
    assert (event["state"], len(event["result"]["results"])) == ("SUCCEEDED", 1)
    assert [_count_requests(chat, kind) for kind in ("facts", "decisions")] == [1, 1]
    assert set(current_memories(acme)) == {DOG, CAT}
    assert makers.get(Extraction, acme).said == {}


def test_facts_are_extracted_again_after_unusable_decisions(
    agent: Agent, acme: Account, chat: FakeProvider
) -> None:
    agent.post("memory/store", {"text": DOG, "user_id": "mira"}, 201)
    facts = scripted_reply([fact(CAT)], [decision(0, "ADD")])
    chat.become(reply=lambda body: facts(body) if request_kind(body) == "facts" else "{")
    event = add_conversation(agent, "I have a cat.")
    assert event["state"] == "FAILED"
    assert "facts" not in makers.get(Extraction, acme).said
    chat.become(reply=facts)
    with acting(acme):
        retry_deliveries(acme.pk)
    run_due_jobs()
    assert agent.get(f"events/{event['id']}")["state"] == "SUCCEEDED"
    assert _count_requests(chat, "facts") == 2
    assert set(current_memories(acme)) == {DOG, CAT}


def test_redelivery_extracts_nothing(agent: Agent, acme: Account, chat: FakeProvider) -> None:
    chat.become(reply=scripted_reply([fact("Nils has a cat.")]))
    event = add_conversation(agent, "I have a cat.", user_id="nils")
    requests = [body for body in chat.seen if "messages" in body]
    makers.update(Delivery, acme, {"event": event["id"]}, done_at=None, due_at=Now())
    run_due_jobs()
    assert agent.get(f"events/{event['id']}")["result"] == event["result"]
    assert [body for body in chat.seen if "messages" in body] == requests
    assert set(current_memories(acme)) == {"Nils has a cat."}


def test_a_fact_for_which_the_embedder_always_fails_does_not_stop_others(
    agent: Agent, acme: Account, chat: FakeProvider
) -> None:
    agent.post("memory/store", {"text": DOG, "user_id": "mira"}, 201)
    odd = "Quokka Island is closed."
    reply = scripted_reply([fact(CAT), fact(odd)], [decision(0, "ADD")])
    chat.become("error", only="Quokka", reply=reply)
    assert add_conversation(agent, "I have a cat.")["state"] == "SUCCEEDED"
    assert set(current_memories(acme)) == {DOG, CAT, odd}
    assert not fails_for_this_text_only(CAT)
    chat.become("error")  # for every text
    assert not fails_for_this_text_only(odd)
