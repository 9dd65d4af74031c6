"""Recorded calls made again: the same under the same policy, and otherwise as is known before."""

from typing import Any

import pytest

from context.models import ContextInput
from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from tests.agent import Agent
from tests.context.calling import talk

pytestmark = pytest.mark.django_db


def made(agent: Agent, **more: Any) -> Any:
    body = {"messages": talk(6), "conversation_id": "c1", "sources": [], **more}
    return agent.post("context/assemble", body, 201)


def again(agent: Agent, call: Any, status: int = 200, **changes: Any) -> Any:
    return agent.post(f"context/reports/{call['report_id']}/replay", changes, status)


def test_the_same_policy_gives_the_same_call(agent: Agent) -> None:
    call = made(agent, context_window_tokens=2_500, reserved_output_tokens=100)
    replay = again(agent, call)
    recorded = call["context_cost"]["estimated_tokens"]
    assert {name: each["before"] for name, each in replay["tokens"].items()} == recorded
    assert all(each["before"] == each["after"] for each in replay["tokens"].values())
    assert replay["messages_lost"] == replay["messages_gained"] == []
    assert replay["actions"]["before"] == replay["actions"]["after"] != []


def test_a_smaller_window_loses_what_is_known_before(agent: Agent) -> None:
    call = made(agent)
    before = call["context_cost"]["estimated_tokens"]["total"]
    replay = again(
        agent,
        call,
        context_window_tokens=before - 1,
        reserved_output_tokens=0,
        policy={"prune": ["hard_clear"]},
    )
    assert replay["actions"] == {"before": [], "after": ["prune_tool_results"]}
    assert replay["messages_lost"] == [2]  # the oldest tool result is enough
    assert replay["tokens"]["total"]["after"] < before == replay["tokens"]["total"]["before"]
    assert replay["policy"]["prune"] == ["hard_clear"]
    tiny = again(agent, call, context_window_tokens=50, reserved_output_tokens=0)
    assert (tiny["fits_before"], tiny["fits_after"]) == (True, False)


def test_evidence_that_is_lost_is_named(agent: Agent) -> None:
    memory = agent.post("memory/store", {"text": "The kiln is by the pond.", "user_id": "u"}, 201)
    call = made(agent, user_id="u", sources=["memory"])
    replay = again(agent, call, policy={"snippet_tokens": 0, "most_snippet_tokens": 0})
    assert replay["evidence_lost"] == [f"memory:{memory['id']}"]
    assert replay["tokens"]["memory_knowledge"]["after"] == 0


def test_a_call_whose_inputs_are_gone_is_not_made_again(agent: Agent, acme: Account) -> None:
    call = made(agent)
    with acting(acme):
        ContextInput.objects.of(acme).delete()
    assert again(agent, call, 410)["error"] == "inputs_expired"


@pytest.mark.parametrize(
    "wrong",
    [
        {"policy": {"nothing": 1}},
        {"tool_profile": "none"},
        {"context_window_tokens": 10, "reserved_output_tokens": 10},
    ],
)
def test_changes_that_make_no_sense_are_refused(agent: Agent, wrong: Any) -> None:
    assert again(agent, made(agent), 400, **wrong)["issues"]
