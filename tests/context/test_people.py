"""With a person's last memory goes all that is kept under their id; nobody else's does."""

from typing import Any

import pytest

from context.models import (
    ContextBody,
    ContextCostReport,
    ContextInput,
    ContextSummary,
    ToolResultArchive,
)
from context.models.archives import ArchiveScope
from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from rules.models import RuleDecision, RuleFeedback
from tests.agent import Agent
from tests.context.calling import call, talk

KEPT = (ToolResultArchive, ContextCostReport, ContextSummary, RuleDecision)


def erase(agent: Agent, **which: Any) -> Any:
    counted = agent.post("memory/erase", which, 200)
    done = agent.post("memory/erase", {**which, "confirm_token": counted["confirm_token"]}, 200)
    return counted | done


@pytest.fixture
def two(agent: Agent, acme: Account) -> Account:
    """Ann and Ben: a tool result, a summed up call and a decision of each, and no memory."""
    for user in ("ann", "ben"):
        result = {"tool_name": "look", "result": f"{user} has tea.", "threshold": 0}
        agent.post("tool-results", {**result, "user_id": user, "conversation_id": user}, 201)
        call(
            acme,
            [{"role": "user", "content": f"I am {user}."}, *talk(6, characters=600)],
            window=1_000,
            reserve=100,
            within=ArchiveScope(conversation_id=user, user_id=user),
            policy={"least_turns": 6, "summary_tokens": 100, "prune": []},
        )
        asked = {"context": {"who": user}, "candidates": ["bash"], "user_id": user}
        made = agent.post("memory/tools/select", asked, 200)
        said = {"selected_tool": "bash", "outcome": "negative", "note": f"{user} said so"}
        said |= {"decision_id": made["decision"]["decision_id"]}
        agent.post("memory/tools/feedback", {**asked, **said}, 201)
    return acme


def people(account: Account) -> list[set[str]]:
    with acting(account):
        return [
            {*model._default_manager.filter(account=account).values_list("user_id", flat=True)}  # noqa: SLF001
            for model in KEPT
        ]


def test_a_person_without_memories_is_erased_by_their_id(agent: Agent, two: Account) -> None:
    assert people(two) == [{"ann", "ben"}] * len(KEPT)
    done = erase(agent, user_id="ann")
    assert done["count"] == 0
    assert done["goes"]["kept_elsewhere"] >= len(KEPT)
    assert people(two) == [{"ben"}] * len(KEPT)
    with acting(two):
        assert RuleFeedback.objects.of(two).count() == 1
        [left] = ContextInput.objects.of(two)
        texts = list(ContextBody.objects.of(two).values_list("text", flat=True))
        assert not any("I am ann." in text for text in texts)
        assert any("I am ben." in text for text in texts)
        # What both had said is still whole for who is left.
        kept = {*ContextBody.objects.of(two).values_list("pk", flat=True)}
        assert {*left.messages} <= kept
    assert agent.get("memory/verify")["ok"]
    agent.post("memory/erase", {"user_id": "ann"}, 404)


def test_what_is_kept_of_a_person_stays_while_there_are_other_memories(
    agent: Agent, two: Account
) -> None:
    ids = [
        agent.post("memory/store", {"text": f"Tea {n}.", "user_id": "ann"}, 201)["id"]
        for n in range(2)
    ]
    assert erase(agent, ids=ids[:1])["goes"]["kept_elsewhere"] == 0
    assert people(two) == [{"ann", "ben"}] * len(KEPT)
    assert erase(agent, ids=ids[1:])["goes"]["kept_elsewhere"] >= len(KEPT)
    assert people(two) == [{"ben"}] * len(KEPT)


def test_the_confirmation_is_for_one_person(agent: Agent, two: Account) -> None:
    token = agent.post("memory/erase", {"user_id": "ann"}, 200)["confirm_token"]
    other = agent.post("memory/erase", {"user_id": "ben", "confirm_token": token}, 409)
    assert other["error"] == "count_changed"
