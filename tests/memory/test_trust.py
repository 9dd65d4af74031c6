"""Agents cannot give their own writes more reach or trust."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account, ApiKey, User
from memory.actions import review
from memory.models import MemoryEntry, MemorySettings
from memory.views.urls import urlpatterns
from tests import makers
from tests.agent import Agent
from tests.fake_provider import FakeProvider
from tests.injection_corpus import INJECTIONS
from tests.memory.chat_model import run_due_jobs
from tests.payloads import PAYLOADS

pytestmark = pytest.mark.promise(39)

# Fields that would give a memory more weight than an agent may set.
PRIVILEGED_FIELDS: dict[str, Any] = {
    "status": "active",
    "state": "active",
    "pinned": True,
    "trust": "trusted",
    "reviewed": True,
    "approved_by": "user:00000000-0000-7000-8000-000000000000",
    "created_by": "user:00000000-0000-7000-8000-000000000000",
    "actor": "user:00000000-0000-7000-8000-000000000000",
    "written_in": "00000000-0000-7000-8000-000000000000",
    "commit_id": "00000000-0000-7000-8000-000000000000",
    "flags": [],
    "version": 99,
    "access_count": 1_000_000,
    "tier": "hot",
}
TOO_MUCH = {"importance": 5.0, "confidence": 7, "salience": 1e9}
POISON = INJECTIONS[0]
WRITE_PATHS = ("memory/write", "memory/store", "memory/add")


def body(endpoint: str, text: str, **more: Any) -> dict[str, Any]:
    if endpoint == "memory/write":
        return {"nodes": [{"text": text, **more}], **more}
    if endpoint == "memory/add":
        return {"messages": [{"role": "user", "content": text}], "infer": False, **more}
    return {"text": text, **more}


def entries(account: Account) -> list[MemoryEntry]:
    with acting(account):
        return list(MemoryEntry.objects.of(account).order_by("pk"))


def send(agent: Agent, endpoint: str, content: dict[str, Any]) -> int:
    """Post a memory, check that it is written or refused, and return the status."""
    answer = agent.client.post(f"/v1/{endpoint}", content, format="json")
    assert answer.status_code in {200, 201, 202, 400, 403}, answer.json()
    return int(answer.status_code)


@pytest.mark.parametrize("endpoint", WRITE_PATHS)
@pytest.mark.parametrize("name", [*PRIVILEGED_FIELDS, "all"])
def test_writer_cannot_approve_its_own_entry(
    agent: Agent, acme: Account, key: tuple[ApiKey, str], endpoint: str, name: str
) -> None:
    fields = PRIVILEGED_FIELDS if name == "all" else {name: PRIVILEGED_FIELDS[name]}
    send(agent, endpoint, body(endpoint, POISON, visibility="account", **fields))
    for entry in entries(acme):
        assert entry.status == MemoryEntry.Status.PROPOSED
        assert not entry.pinned
        assert entry.created_by == f"key:{key[0].pk}"
        assert (entry.version, entry.access_count) == (1, 0)
        assert "instructions" in entry.flags
    result = agent.post("memory/search", {"query": POISON}, 200)
    assert result["results"] == []


@pytest.mark.parametrize("endpoint", WRITE_PATHS)
@pytest.mark.parametrize("name", TOO_MUCH)
def test_weights_stay_between_0_and_1(
    agent: Agent, acme: Account, endpoint: str, name: str
) -> None:
    send(agent, endpoint, body(endpoint, "Tea.", user_id="u", **{name: TOO_MUCH[name]}))
    assert all(0 <= getattr(entry, name) <= 1 for entry in entries(acme))


@pytest.fixture
def private(agent: Agent) -> str:
    content = {"text": POISON, "user_id": "u", "run_id": "r", "visibility": "conversation"}
    return str(agent.post("memory/store", content, 201)["id"])


@pytest.mark.parametrize(
    "more",
    [
        {"visibility": "account"},
        {"visibility": "user"},
        {"user_id": ""},
        {"user_id": "v"},
        {"run_id": ""},
        *({name: value} for name, value in PRIVILEGED_FIELDS.items()),
    ],
    ids=str,
)
def test_update_widens_nothing(
    agent: Agent, acme: Account, private: str, more: dict[str, Any]
) -> None:
    [before] = entries(acme)
    agent.client.post(
        "/v1/memory/update", {"id": private, "text": "Changed.", **more}, format="json"
    )
    for entry in entries(acme):
        if entry.pk == before.pk:
            saved = ("visibility", "user_id", "run_id", "status", "pinned", "created_by", "scope")
            assert [getattr(entry, n) for n in saved] == [getattr(before, n) for n in saved]
        else:  # a proposal, for a person to decide
            assert entry.status == MemoryEntry.Status.PROPOSED


def test_update_of_account_wide_memory_is_a_proposal(agent: Agent, acme: Account) -> None:
    with acting(acme):
        acme.account_wide = Account.Policy.APPLY
        acme.save()
    pk = agent.post("memory/store", {"text": "The tea room opens at nine."}, 201)["id"]
    with acting(acme):
        acme.account_wide = Account.Policy.PROPOSE
        acme.save()
    agent.client.post("/v1/memory/update", {"id": pk, "text": POISON}, format="json")
    with acting(acme):
        assert MemoryEntry.objects.of(acme).get(pk=pk).content == "The tea room opens at nine."
        assert MemoryEntry.objects.of(acme).current().count() == 1


@pytest.fixture
def pinned(agent: Agent, acme: Account) -> str:
    """The id of a memory of a user that a person pinned."""
    pk = agent.store("Mira drinks tea.", title="Drinks", user_id="mira")
    [entry] = entries(acme)
    with acting(acme):
        review.pin(makers.decision(entry))
    return pk


@pytest.mark.parametrize(
    ("change", "remains"),
    [
        ({"text": "Mira drinks rum."}, False),
        ({"title": "Rum"}, False),
        ({"text": "Mira drinks tea.", "title": "Drinks"}, True),
        ({"tags": ["drinks"], "metadata": {"cup": 1}}, True),
    ],
    ids=str,
)
def test_new_text_of_an_agent_unpins(
    agent: Agent, acme: Account, pinned: str, change: dict[str, Any], *, remains: bool
) -> None:
    assert agent.post("memory/update", {"id": pinned, **change}, 200)["pinned"] is remains
    [entry] = entries(acme)
    assert entry.pinned is remains
    history = agent.get(f"memory/{pinned}/history")["versions"]
    assert [each["state"].get("pinned", False) for each in history] == [False, True, remains]
    assert agent.get("memory/verify")["ok"]
    with acting(acme):  # undoing the change restores the text that the person confirmed
        [restored] = review.undo(makers.decision(entry))
    assert (restored.content, restored.pinned) == ("Mira drinks tea.", True)


def test_instruction_of_an_agent_unpins(agent: Agent, pinned: str, chat: FakeProvider) -> None:
    chat.become(reply='{"content": "Mira drinks rum.", "importance": null}')
    agent.post("memory/update", {"id": pinned, "instruction": "Rum now."}, 202)
    run_due_jobs()
    changed = agent.post("memory/get", {"id": pinned}, 200)
    assert (changed["text"], changed["pinned"]) == ("Mira drinks rum.", False)


def test_correction_by_a_person_stays_pinned(acme: Account, ada: User, pinned: str) -> None:
    [entry] = entries(acme)
    with acting(acme):
        decision = replace(makers.decision(entry), actor=Actor("user", ada.pk))
        assert review.edit(decision, {"content": "Mira drinks green tea."}).pinned


def decisions() -> Iterator[str]:
    """The URLs of all memory pages that accept POST."""
    for each in urlpatterns:
        yield "/" + str(each.pattern).replace("<uuid:pk>", "{pk}")


@pytest.mark.parametrize("address", [*decisions()])
def test_api_key_cannot_use_review_pages(
    acme: Account, key: tuple[ApiKey, str], agent: Agent, address: str
) -> None:
    pk = agent.post("memory/store", {"text": POISON, "visibility": "account"}, 201)["id"]
    caller = Client(headers={"authorization": f"Bearer {key[1]}", "x-api-key": key[1]})
    answer = caller.post(address.format(pk=pk), {"reason": "mine", "then": "approve"})
    assert answer.status_code in {302, 403, 404, 405}
    if answer.status_code == 302:
        assert "sign-in" in answer.headers["Location"] or "next=" in answer.headers["Location"]
    [entry] = entries(acme)
    assert (entry.status, entry.version, entry.pinned) == ("proposed", 1, False)
    with acting(acme):
        assert MemorySettings.objects.get_or_default(acme.pk).version == 0


def test_hostile_text_is_returned_unchanged(agent: Agent) -> None:
    text = f"{PAYLOADS[0].text} {POISON}"
    agent.post("memory/store", {"text": text, "user_id": "u"}, 201)
    [hit] = agent.post("memory/search", {"query": POISON, "user_id": "u"}, 200)["results"]
    assert hit["text"] == text
