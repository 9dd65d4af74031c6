"""Variants: a conversation keeps its own, a header wins, and outcomes say which does better."""

from typing import Any
from uuid import UUID

import pytest

from context.assembly.retrieval_requests import assign_variant
from kmapp.accounts.models import Account
from tests.agent import Agent
from tests.context.calling import priced

ACCOUNT = UUID(int=7)


def test_a_conversation_keeps_its_variant_and_shares_are_kept_to() -> None:
    shares = {"v1": 70, "v2": 30}
    given = {f"c{at}": assign_variant(ACCOUNT, f"c{at}", shares) for at in range(4_000)}
    assert all(assign_variant(ACCOUNT, name, shares) == variant for name, variant in given.items())
    assert sum(variant == "v2" for variant in given.values()) == pytest.approx(1_200, rel=0.1)
    # Another account shares out its conversations otherwise.
    assert any(assign_variant(UUID(int=8), name, shares) != given[name] for name in given)
    # More for one takes from the other, and gives it nothing.
    more = {name: assign_variant(ACCOUNT, name, {"v1": 80, "v2": 20}) for name in given}
    assert all(more[name] == "v1" for name, variant in given.items() if variant == "v1")


@pytest.mark.parametrize(("conversation", "shares"), [("", {"v2": 100}), ("c1", {})])
def test_nothing_to_go_by_assigns_nothing(conversation: str, shares: dict[str, int]) -> None:
    assert assign_variant(ACCOUNT, conversation, shares) is None


def made(agent: Agent, conversation: str = "", **headers: str) -> Any:
    said = [{"role": "user", "content": "Hello."}]
    body = {"messages": said, "model": "small", "sources": [], "conversation_id": conversation}
    return agent.post("context/assemble", body, 201, **headers)


@pytest.mark.django_db
def test_calls_say_which_variant_they_got_and_who_chose(agent: Agent) -> None:
    def chosen(*said: str, **headers: str) -> tuple[str, str]:
        cost = made(agent, *said, **headers)["context_cost"]
        return cost["variant"], cost["variant_by"]

    assert chosen("c1") == ("v1", "default")
    agent.post("context/settings", {"variants": {"v3": 100}}, 200)
    assert chosen("c1") == ("v3", "assigned")
    assert chosen() == ("v1", "default")
    assert chosen("c1", **{"X-KM-Variant": "v2"}) == ("v2", "asked")
    assert len(agent.get("context/reports", variant="v3")["results"]) == 1


@pytest.mark.django_db
def test_outcomes_compare_variants(agent: Agent, acme: Account) -> None:
    priced(acme, small={"input": 500_000, "output": 0})
    for variant, successes in (("v1", (True, True, False, None)), ("v2", (False,))):
        for at, success in enumerate(successes):
            call = made(agent, f"c{at % 2}", **{"X-KM-Variant": variant})
            told = {"latency_ms": 100 * (at + 1), "usage": {"input_tokens": 10}}
            path = f"context/reports/{call['report_id']}/outcome"
            agent.post(path, {**told, "success": success}, 200)
    one, other = agent.get("context/variants")["results"]
    assert (one["variant"], one["calls"], one["conversations"]) == ("v1", 4, 2)
    assert (one["told"], one["succeeded"], one["success"]) == (3, 2, pytest.approx(2 / 3))
    assert one["success_low"] < 2 / 3 < one["success_high"]
    assert (one["latency_ms"], one["latency_p95_ms"]) == (250, pytest.approx(385))
    assert one["cost"] == pytest.approx(5)
    assert (other["variant"], other["success"]) == ("v2", 0)
    assert agent.get("context/variants", agent_id="nobody")["results"] == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    "wrong",
    [
        {"variants": {"v1": 50}},
        {"variants": {"v1": 0, "v2": 100}},
        {"variants": {"v9": 100}},
        {"prices": {"m": {"output": 1}}},
        {"policy": {"protected_turns": 0}},
        {"inputs_days": 0},
    ],
)
def test_settings_that_make_no_sense_are_refused(agent: Agent, wrong: Any) -> None:
    assert agent.post("context/settings", wrong, 400)["issues"]


@pytest.mark.django_db
def test_settings_are_changed_one_by_one_and_with_their_version(agent: Agent) -> None:
    before = agent.get("context/settings")
    assert (before["inputs_days"], before["policy"], before["version"]) == (30, {}, 0)
    said = {"policy": {"protected_turns": 3}, "version": 0, "reason": "Long talks."}
    after = agent.post("context/settings", said, 200)
    assert after["effective_policy"]["protected_turns"] == 3
    assert after["version"] == 1
    assert agent.post("context/settings", {"inputs_days": 9, "version": 0}, 409)
    last = agent.post("context/settings", {"inputs_days": 9}, 200)
    assert (last["inputs_days"], last["policy"]) == (9, {"protected_turns": 3})
