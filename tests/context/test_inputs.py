"""What calls were made of: kept once, for a while, and gone when a part of it is erased."""

import pytest

from context.actions.retention import remove_expired_inputs
from context.actions.settings import change_settings
from context.models import ContextBody, ContextCostReport, ContextInput
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from tests.agent import Agent
from tests.context.calling import talk
from tests.context.test_assembling import TOOLS, assemble

pytestmark = pytest.mark.django_db


def test_parts_of_calls_are_kept_once(agent: Agent, acme: Account) -> None:
    assemble(agent, talk(3), sources=[], tools=TOOLS)
    with acting(acme):
        before = ContextBody.objects.of(acme).count()
    said = [*talk(3), {"role": "assistant", "content": "Well."}, {"role": "user", "content": "?"}]
    assemble(agent, said, sources=[], tools=TOOLS)
    with acting(acme):
        assert ContextBody.objects.of(acme).count() == before + 2
        newest = ContextInput.objects.of(acme).order_by("-created_at")[0]
        assert len(newest.messages) == len(said)
        assert ContextBody.objects.of(acme).filter(text__contains="pizza").count() == 1


def test_inputs_go_and_the_account_stays(agent: Agent, acme: Account) -> None:
    assemble(agent, talk(2, word="ada@example.test"), sources=[])
    with acting(acme):
        assert not ContextBody.objects.of(acme).filter(text__contains="ada@example").exists()
        change_settings(acme.pk, {"inputs_days": 3}, actor=SYSTEM)
    assert remove_expired_inputs(acme.pk) == 0
    with acting(acme):
        long_ago = "2026-01-01T00:00:00Z"
        ContextInput.objects.of(acme).update(created_at=long_ago)
        ContextBody.objects.of(acme).update(used_on="2026-01-01")
    assert remove_expired_inputs(acme.pk) == 1
    with acting(acme):
        assert not ContextBody.objects.of(acme).exists()
        assert ContextCostReport.objects.of(acme).count() == 1


def test_an_erased_memory_leaves_recorded_inputs(agent: Agent, acme: Account) -> None:
    memory = agent.post("memory/store", {"text": "The kiln is by the pond.", "user_id": "u"}, 201)
    assemble(agent, [{"role": "user", "content": "Where is the kiln?"}], user_id="u")
    with acting(acme):
        assert ContextBody.objects.of(acme).filter(text__contains="pond").exists()
    counted = agent.post("memory/erase", {"ids": [memory["id"]]})
    ticket = {"ids": [memory["id"]], "confirm_token": counted["confirm_token"]}
    agent.post("memory/erase", ticket)
    with acting(acme):
        assert not ContextBody.objects.of(acme).filter(text__contains="pond").exists()
        assert not ContextInput.objects.of(acme).exists()
