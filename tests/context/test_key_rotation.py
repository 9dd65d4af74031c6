"""Calls after a rotation of the secret key."""

from typing import Any
from uuid import uuid4

import pytest
from pytest_django import Settings

from context.models import ContextSummary, ToolResultArchive
from context.models.archives import ArchiveScope
from context.reports.call_part_digests import body_digest
from kmapp.accounts.models import Account
from memory.models import Extraction
from tests import makers
from tests.agent import Agent
from tests.context.builders import call, talk
from tests.context.test_archives import LONG
from tests.context.test_model_summaries import SMALL, expire_summaries
from tests.context.test_preparing import conversation

pytestmark = pytest.mark.usefixtures("low_threshold")
WITHIN = ArchiveScope(conversation_id="c1", user_id="u")


def rotate_key(settings: Settings) -> None:
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "another"


def decision_of(recorded: Any, action: str) -> Any:
    [decision] = [each for each in recorded.report["decisions"] if each["action"] == action]
    return decision


def test_digests_of_a_former_key_are_computed(settings: Settings) -> None:
    account, message = uuid4(), {"role": "user", "content": "Tea."}
    before = body_digest(account, message)
    rotate_key(settings)
    assert body_digest(account, message) != before
    assert body_digest(account, message, settings.SECRET_KEY_FALLBACKS[0]) == before


def test_summary_is_reused_after_a_key_rotation(acme: Account, settings: Settings) -> None:
    call(acme, talk(6, characters=600), within=WITHIN, **SMALL)
    rotate_key(settings)
    second = call(acme, talk(6, characters=600), within=WITHIN, **SMALL)
    assert decision_of(second, "auto_compact")["reused"]
    assert makers.count(ContextSummary, acme) == makers.count(Extraction, acme) == 1


def test_memory_receives_messages_once_despite_a_key_rotation(
    acme: Account, settings: Settings
) -> None:
    call(acme, talk(6, characters=600), within=WITHIN, **SMALL)
    rotate_key(settings)
    decisions: list[Any] = []
    for turns in (6, 7):
        expire_summaries(acme)
        recorded = call(acme, talk(turns, characters=600), within=WITHIN, **SMALL)
        decisions.append(decision_of(recorded, "memory_flush"))
    assert "sent these messages to memory" in decisions[0]["skipped"]
    assert 1 <= decisions[1]["messages"] <= 4  # of one turn
    assert makers.count(Extraction, acme) == 2


def test_redacted_result_is_archived_once_despite_a_key_rotation(
    agent: Agent, acme: Account, settings: Settings
) -> None:
    messages = conversation(f"{LONG} Write to ada@example.test.", "short")
    body = {"messages": messages, "conversation_id": "c1"}
    first = agent.post("context/prepare", body)
    rotate_key(settings)
    again = agent.post("context/prepare", body)
    assert again["messages"] == first["messages"]
    assert [each["fresh"] for each in again["archived"]] == [False]
    assert makers.count(ToolResultArchive, acme) == 1
