"""Replay of recorded calls under the same or another policy."""

from typing import Any

import pytest
from pytest_django import Settings

from context.actions.settings import change_settings
from context.models import ContextInput
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from memory.retrieval.access_counters import take_counts
from tests import makers
from tests.agent import Agent
from tests.context.builders import talk
from tests.fake_provider import FakeProvider


def assemble(agent: Agent, **more: Any) -> Any:
    body = {"messages": talk(6), "conversation_id": "c1", "sources": [], **more}
    return agent.post("context/assemble", body, 201)


def replay(agent: Agent, call: Any, status: int = 200, **changes: Any) -> Any:
    return agent.post(f"context/reports/{call['report_id']}/replay", changes, status)


def test_same_policy_gives_the_same_call(agent: Agent) -> None:
    call = assemble(agent, context_window_tokens=2_500, reserved_output_tokens=100)
    replayed = replay(agent, call)
    recorded = call["context_cost"]["estimated_tokens"]
    assert {name: each["before"] for name, each in replayed["tokens"].items()} == recorded
    assert all(each["before"] == each["after"] for each in replayed["tokens"].values())
    assert replayed["messages_lost"] == replayed["messages_gained"] == []
    assert replayed["actions"]["before"] == replayed["actions"]["after"] != []


def test_smaller_window_loses_the_oldest_result(agent: Agent) -> None:
    call = assemble(agent)
    before = call["context_cost"]["estimated_tokens"]["total"]
    replayed = replay(
        agent,
        call,
        context_window_tokens=before - 1,
        reserved_output_tokens=0,
        policy={"prune": ["hard_clear"]},
    )
    assert replayed["actions"] == {"before": [], "after": ["prune_tool_results"]}
    assert replayed["messages_lost"] == [2]  # the oldest tool result is enough
    assert replayed["tokens"]["total"]["after"] < before == replayed["tokens"]["total"]["before"]
    assert replayed["policy"]["prune"] == ["hard_clear"]
    tiny = replay(agent, call, context_window_tokens=50, reserved_output_tokens=0)
    assert (tiny["fits_before"], tiny["fits_after"]) == (True, False)


def test_lost_evidence_is_listed(agent: Agent) -> None:
    memory = agent.post("memory/store", {"text": "The kiln is by the pond.", "user_id": "u"}, 201)
    call = assemble(agent, user_id="u", sources=["memory"])
    replayed = replay(agent, call, policy={"snippet_tokens": 0, "most_snippet_tokens": 0})
    assert replayed["evidence_lost"] == [f"memory:{memory['id']}"]
    assert replayed["tokens"]["memory_knowledge"]["after"] == 0


def test_call_without_inputs_cannot_be_replayed(agent: Agent, acme: Account) -> None:
    call = assemble(agent)
    with acting(acme):
        ContextInput.objects.of(acme).delete()
    assert replay(agent, call, 410)["error"] == "inputs_expired"


def test_rejects_invalid_changes(agent: Agent) -> None:
    call = assemble(agent)
    invalid: list[dict[str, Any]] = [{"policy": {"nothing": 1}}, {"tool_profile": "none"}]
    for changes in (*invalid, {"context_window_tokens": 10, "reserved_output_tokens": 10}):
        assert replay(agent, call, 400, **changes)["issues"], changes


@pytest.fixture
def documented(agent: Agent, provider: FakeProvider) -> Any:
    """A call with a passage that the index of v2 does not contain."""
    document = {"ref": "kiln.md", "text": "# Kiln\n\nThe kiln is by the pond."}
    body = {"source": {"name": "manual", "kind": "file_set"}, "documents": [document]}
    agent.post("knowledge/ingest", body)
    call = assemble(agent, sources=["memory", "knowledge"], user_id="u")
    assert [each["kind"] for each in call["context_cost"]["citations"]] == ["knowledge_chunk"]
    return call


def test_replay_with_another_variant(agent: Agent, documented: Any) -> None:
    [item] = [i for i in documented["context_cost"]["items"] if i["kind"] == "snippet"]
    replayed = replay(agent, documented, variant="v2")
    assert replayed["variant"] == "v2"
    assert replayed["evidence_lost"] == [f"knowledge:{item['ref']}"]
    assert replayed["tokens"]["memory_knowledge"]["after"] == 0
    same = replay(agent, documented, variant="v1")
    assert same["evidence_lost"] == same["evidence_gained"] == []
    assert same["tokens"]["total"]["before"] == same["tokens"]["total"]["after"]
    by_header = agent.post(
        f"context/reports/{documented['report_id']}/replay", {}, 200, **{"X-KM-Variant": "v2"}
    )
    assert by_header == replayed


def test_replay_retrieves_current_data_without_counting_access(
    agent: Agent, acme: Account, documented: Any
) -> None:
    new = agent.post("memory/store", {"text": "The kiln moved to the wood.", "user_id": "u"}, 201)
    take_counts(acme.pk)
    assert replay(agent, documented, variant="v1")["evidence_gained"] == [f"memory:{new['id']}"]
    assert take_counts(acme.pk) == {}
    assert replay(agent, documented)["evidence_gained"] == []


def test_calls_are_compared_by_variant(agent: Agent, documented: Any) -> None:
    sides = {"left": {"variant": "v1"}, "right": {"variant": "v2"}}
    comparison = agent.post("context/comparisons", sides, 202)
    makers.settle()
    body = agent.get(f"context/comparisons/{comparison['id']}")
    assert (body["status"], body["gone"], body["right"]["variant"]) == ("succeeded", 0, "v2")
    assert (body["summary"]["changed"], body["summary"]["evidence_lost"]) == (1, 1)


def test_call_without_requests_cannot_change_the_variant(
    agent: Agent, acme: Account, documented: Any
) -> None:
    with acting(acme):
        row = ContextInput.objects.of(acme).get()
        del row.rest["wanted"]
        row.save()
    assert replay(agent, documented, 410, variant="v2")["error"] == "inputs_expired"
    assert replay(agent, documented)["evidence_lost"] == []
    comparison = agent.post("context/comparisons", {"right": {"variant": "v2"}}, 202)
    makers.settle()
    assert agent.get(f"context/comparisons/{comparison['id']}")["gone"] == 1


def test_variant_replay_needs_the_source_scopes(acme: Account, documented: Any) -> None:
    other = makers.agent(acme, ["context:read", "context:write"])
    assert replay(other, documented, 403, variant="v2")["error"] == "missing_scope"
    other.post("context/comparisons", {"right": {"variant": "v2"}}, 403)
    assert replay(other, documented)["evidence_lost"] == []


def test_incomplete_retrieval_fails_the_replay(
    agent: Agent, acme: Account, documented: Any, settings: Settings
) -> None:
    far = "http://127.0.0.1:9"
    settings.REMOTE_BASE_URLS = [far]
    with acting(acme):
        remote = {"remote_url": far, "remote_key": "key", "remote_sources": ["memory"]}
        change_settings(acme.pk, remote, actor=SYSTEM)
    body = replay(agent, documented, 503, variant="v3")
    assert body["error"] == "km_provider_error"
    assert "km_fallback_local" in body["message"]
