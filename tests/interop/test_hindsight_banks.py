"""Banks of Hindsight: their profiles, and the ids of their documents."""

from typing import Any

import pytest
from django.test import Client

from kmapp.accounts.models import Account, ApiKey
from memory.actions import bulk_review
from memory.models import MemoryEntry
from tests import makers
from tests.interop.test_langgraph import list_generations_once

BANK = "/v1/default/banks/b"


def retain(agent: Client, text: str, **item: Any) -> None:
    body = {"items": [{"content": text, **item}], "async": True}
    answer = agent.post(f"{BANK}/memories", body, "application/json")
    assert answer.status_code == 200, answer.content


def test_profile_that_needs_review_is_proposed_once(
    agent: Client, acme: Account, key: tuple[ApiKey, str]
) -> None:
    makers.set_policy(acme, {"review_keys": [str(key[0].pk)]})
    for text in ("Tea.", "Coffee."):
        retain(agent, text)
    profile = makers.get(MemoryEntry, acme, kind="self_model")
    assert (profile.status, profile.version) == ("proposed", 1)
    assert makers.count(MemoryEntry, acme, kind="fact", status="proposed") == 2
    for body in ({"name": "Guide"}, {"mission": "Advise."}):
        assert agent.put(BANK, body, "application/json").status_code == 200
    profile = makers.get(MemoryEntry, acme, kind="self_model")
    assert (profile.title, profile.content, profile.status) == ("Guide", "Advise.", "proposed")


def test_retain_keeps_the_profile_of_a_bank_that_is_created_meanwhile(
    agent: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.put(BANK, {"mission": "Advise."}, "application/json")
    list_generations_once(monkeypatch, [[]])  # before the bank was created
    retain(agent, "Tea.")
    assert agent.get(f"{BANK}/profile").json()["mission"] == "Advise."
    # The other request may forget its profile as the older one: the newer one has its values.
    profile = makers.get(MemoryEntry, acme, kind="self_model", status="active")
    assert (profile.content, profile.version) == ("Advise.", 2)


def test_bank_that_is_created_while_workers_delete_it_is_new(
    agent: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_review, "PART_SIZE", 2)
    agent.put(BANK, {"mission": "Advise."}, "application/json")
    for text in ("Tea.", "Coffee.", "Milk."):
        retain(agent, text)
    assert agent.delete(BANK).json()["deleted_count"] == 4
    assert agent.get(f"{BANK}/profile").status_code == 404
    created = agent.put(BANK, {"name": "Guide"}, "application/json").json()
    assert (created["name"], created["mission"]) == ("Guide", "")
    makers.settle()
    assert agent.get(f"{BANK}/profile").json()["name"] == "Guide"
    assert makers.count(MemoryEntry, acme, kind="fact", status="forgotten") == 3


def test_final_slash_of_a_document_id_is_part_of_it(agent: Client) -> None:
    for text, document in (("Tea.", "https://a.test"), ("Coffee.", "https://a.test/")):
        retain(agent, text, document_id=document)
    url = f"{BANK}/documents/https%3A%2F%2Fa.test"
    assert agent.get(f"{url}%2F").json()["original_text"] == "Coffee."
    assert agent.delete(f"{url}%2F").json()["document_id"] == "https://a.test/"
    assert agent.get(f"{url}%2F").status_code == 404
    assert agent.get(url).json()["original_text"] == "Tea."
