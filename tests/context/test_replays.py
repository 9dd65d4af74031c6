"""Recorded calls made again: the same under the same policy, and otherwise as is known before."""

from typing import Any

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from context.actions.settings import change_settings
from context.models import ContextInput
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from memory.retrieval.access_counters import take_counts
from tests import makers
from tests.agent import Agent
from tests.context.calling import talk
from tests.fake_provider import FakeProvider

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


@pytest.fixture
def documented(agent: Agent, provider: FakeProvider) -> Any:
    """A call that found a passage which the index of v2 does not have."""
    document = {"ref": "kiln.md", "text": "# Kiln\n\nThe kiln is by the pond."}
    said = {"source": {"name": "manual", "kind": "file_set"}, "documents": [document]}
    agent.post("knowledge/ingest", said)
    call = made(agent, sources=["memory", "knowledge"], user_id="u")
    assert [each["kind"] for each in call["context_cost"]["citations"]] == ["knowledge_chunk"]
    return call


def test_another_variant_finds_what_is_known_before(agent: Agent, documented: Any) -> None:
    [item] = [i for i in documented["context_cost"]["items"] if i["kind"] == "snippet"]
    replay = again(agent, documented, variant="v2")
    assert replay["variant"] == "v2"
    assert replay["evidence_lost"] == [f"knowledge:{item['ref']}"]
    assert replay["tokens"]["memory_knowledge"]["after"] == 0
    same = again(agent, documented, variant="v1")
    assert same["evidence_lost"] == same["evidence_gained"] == []
    assert same["tokens"]["total"]["before"] == same["tokens"]["total"]["after"]
    by_header = agent.post(
        f"context/reports/{documented['report_id']}/replay", {}, 200, **{"X-KM-Variant": "v2"}
    )
    assert by_header == replay


def test_it_is_asked_as_things_are_now_and_counts_as_no_use(
    agent: Agent, acme: Account, documented: Any
) -> None:
    new = agent.post("memory/store", {"text": "The kiln moved to the wood.", "user_id": "u"}, 201)
    take_counts(acme.pk)
    assert again(agent, documented, variant="v1")["evidence_gained"] == [f"memory:{new['id']}"]
    assert take_counts(acme.pk) == {}
    assert again(agent, documented)["evidence_gained"] == []


def test_many_calls_are_compared_by_variant(agent: Agent, documented: Any) -> None:
    sides = {"left": {"variant": "v1"}, "right": {"variant": "v2"}}
    asked = agent.post("context/comparisons", sides, 202)
    makers.settle()
    said = agent.get(f"context/comparisons/{asked['id']}")
    assert (said["status"], said["gone"], said["right"]["variant"]) == ("succeeded", 0, "v2")
    assert (said["summary"]["changed"], said["summary"]["evidence_lost"]) == (1, 1)


def test_an_older_call_says_that_it_cannot_be_varied(
    agent: Agent, acme: Account, documented: Any
) -> None:
    with acting(acme):
        row = ContextInput.objects.of(acme).get()
        del row.rest["wanted"]
        row.save()
    assert again(agent, documented, 410, variant="v2")["error"] == "inputs_expired"
    assert again(agent, documented)["evidence_lost"] == []
    asked = agent.post("context/comparisons", {"right": {"variant": "v2"}}, 202)
    makers.settle()
    assert agent.get(f"context/comparisons/{asked['id']}")["gone"] == 1


def test_who_may_not_read_memory_may_not_have_it_asked(acme: Account, documented: Any) -> None:
    secret = makers.key(acme, scopes=["context:read", "context:write"])[1]
    other = Agent(APIClient(headers={"authorization": f"Bearer {secret}"}))
    assert again(other, documented, 403, variant="v2")["error"] == "missing_scope"
    other.post("context/comparisons", {"right": {"variant": "v2"}}, 403)
    assert again(other, documented)["evidence_lost"] == []


def test_half_an_answer_is_none(
    agent: Agent, acme: Account, documented: Any, settings: Settings
) -> None:
    far = "http://127.0.0.1:9"
    settings.REMOTE_BASE_URLS = [far]
    with acting(acme):
        remote = {"remote_url": far, "remote_key": "key", "remote_sources": ["memory"]}
        change_settings(acme.pk, remote, actor=SYSTEM)
    said = again(agent, documented, 503, variant="v3")
    assert said["error"] == "km_provider_error"
    assert "km_fallback_local" in said["message"]
