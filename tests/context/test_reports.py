"""Reports of calls over the API, and their outcomes."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries as MaxQueries

from kmapp.accounts.models import Account
from tests.agent import Agent
from tests.context.builders import configure, set_prices


def create_report(agent: Agent, **more: Any) -> str:
    messages = [{"role": "user", "content": "Hello."}]
    body = {"messages": messages, "model": "small", "agent_id": "a1", "sources": [], **more}
    return str(agent.post("context/assemble", body, 201)["report_id"])


def test_list_is_paginated_and_filtered(agent: Agent) -> None:
    ids = [
        create_report(agent, conversation_id=f"c{number % 2}", agent_id=f"a{number}")
        for number in range(5)
    ]
    first = agent.get("context/reports", limit=3)
    rest = agent.get("context/reports", limit=3, before=first["next"])
    assert [each["id"] for each in first["results"] + rest["results"]] == ids[::-1]
    assert rest["next"] is None
    assert agent.get("context/reports", limit=5)["next"] is None
    assert agent.get("context/reports", limit=4)["next"] == ids[1]
    assert "context_cost" not in first["results"][0]
    narrowings: list[tuple[dict[str, Any], int]] = [
        ({"conversation_id": "c0"}, 3),
        ({"agent_id": "a4"}, 1),
        ({"model": "small"}, 5),
        ({"variant": "v2"}, 0),
        ({"action": "auto_compact"}, 0),
    ]
    for narrowed, number in narrowings:
        assert len(agent.get("context/reports", **narrowed)["results"]) == number


def test_report_has_the_documented_fields(agent: Agent) -> None:
    report = agent.get(f"context/reports/{create_report(agent, conversation_id='c1')}")
    cost = report["context_cost"]
    names = {"context_window_tokens", "reserved_output_tokens", "estimated_tokens", "decisions"}
    assert names <= cost.keys()
    parts = {"system", "history", "tools_schema", "tool_results", "injections", "memory_knowledge"}
    assert cost["estimated_tokens"].keys() == {"total", *parts}
    assert cost["estimated_tokens"]["total"] == sum(cost["estimated_tokens"][p] for p in parts)
    assert {"prefix_tokens", "tail_tokens", "prefix_sha256", "timings_ms"} <= cost.keys()
    assert report["inputs_expire_at"]
    assert report["attributes"] == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "small",
        "gen_ai.conversation.id": "c1",
        "gen_ai.agent.id": "a1",
        "gen_ai.usage.input_tokens": cost["estimated_tokens"]["total"],
    }


USAGES: list[dict[str, Any]] = [
    {"input_tokens": 1_000, "output_tokens": 200, "cached_tokens": 400},
    {
        "prompt_tokens": 1_000,
        "completion_tokens": 200,
        "total_tokens": 1_200,
        "prompt_tokens_details": {"cached_tokens": 400},
        "completion_tokens_details": {"reasoning_tokens": 100},
    },
    {
        "input_tokens": 500,  # without those read from or written to the cache
        "output_tokens": 200,
        "cache_read_input_tokens": 400,
        "cache_creation_input_tokens": 100,
    },
    {
        "input_tokens": 1_000,
        "output_tokens": 200,
        "input_tokens_details": {"cached_tokens": 400},
        "cache_creation_input_tokens": None,
    },
    {
        "gen_ai.usage.input_tokens": 1_000,
        "gen_ai.usage.output_tokens": 200,
        "gen_ai.usage.cache_read.input_tokens": 400,
    },
]


def test_section_with_the_name_of_the_retrieved_texts_is_an_injection(
    agent: Agent, reviewer: Client
) -> None:
    memory = agent.store("The kiln is by the pond.", user_id="u")
    section = {"name": "references", "text": "It is nine.", "stable": False}
    more = {"sources": ["memory"], "user_id": "u", "agent_id": "", "query": "Where is the kiln?"}
    pk = create_report(agent, sections=[section], **more)
    cost = agent.get(f"context/reports/{pk}")["context_cost"]
    items = [(each["section"], each.get("ref")) for each in cost["items"] if "at" not in each]
    assert items == [
        ("system", None),
        ("injections", None),
        ("memory_knowledge", memory),
        ("memory_knowledge", None),
    ]
    assert cost["estimated_tokens"]["injections"] > 0
    assert reviewer.get(f"/calls/{pk}/").status_code == 200


def test_outcome_is_stored_and_priced(agent: Agent, acme: Account) -> None:
    set_prices(acme, small={"input": 2, "output": 10, "cached": 0.5})
    for usage in USAGES:
        pk = create_report(agent)
        assert agent.get(f"context/reports/{pk}")["cost"] > 0
        outcome = {"success": True, "usage": usage, "latency_ms": 900}
        report = agent.post(f"context/reports/{pk}/outcome", outcome, 200)
        assert "warnings" not in report, usage
        assert (report["outcome"]["success"], report["outcome"]["latency_ms"]) == (True, 900)
        cost = (600 * 2 + 400 * 0.5 + 200 * 10) / 1_000_000
        assert report["cost"] == pytest.approx(cost), usage
        attributes = report["attributes"]
        assert attributes["gen_ai.usage.input_tokens"] == 1_000, usage
        assert attributes["gen_ai.usage.output_tokens"] == 200, usage
        assert attributes["gen_ai.usage.cache_read.input_tokens"] == 400, usage


def test_outcome_with_an_empty_model_keeps_the_model(agent: Agent, acme: Account) -> None:
    set_prices(acme, small={"input": 2})
    outcome = {"success": True, "model": ""}
    report = agent.post(f"context/reports/{create_report(agent)}/outcome", outcome, 200)
    assert report["model"] == "small"
    assert report["cost"] > 0


def test_cost_of_any_outcome_can_be_stored(agent: Agent, acme: Account) -> None:
    set_prices(acme, small={"input": 999_999})
    outcome = {"usage": {"input_tokens": 2_000_000_000}}
    report = agent.post(f"context/reports/{create_report(agent)}/outcome", outcome, 200)
    assert report["cost"] == 99_999_999


def test_rejects_invalid_outcomes(agent: Agent) -> None:
    pk = create_report(agent)
    for body in ({"usage": {"input_tokens": -1}}, {"success": "perhaps"}, {"latency_ms": "long"}):
        assert agent.post(f"context/reports/{pk}/outcome", body, 400)["issues"]


def test_call_policy_overrides_the_account(agent: Agent, acme: Account) -> None:
    configure(acme, policy={"protected_turns": 5})
    policy = agent.get(f"context/reports/{create_report(agent)}")["context_cost"]["policy"]
    assert policy["protected_turns"] == 5
    other = create_report(agent, policy={"protected_turns": 1})
    assert agent.get(f"context/reports/{other}")["context_cost"]["policy"]["protected_turns"] == 1


def test_query_count(agent: Agent, max_queries: MaxQueries) -> None:
    pk, *_others = [create_report(agent) for _ in range(6)]
    with max_queries(8):
        agent.get("context/reports")
    with max_queries(10):
        agent.get(f"context/reports/{pk}")


def test_report_reads_no_bodies(agent: Agent) -> None:
    pk = create_report(agent)
    with CaptureQueriesContext(connection) as queries:
        assert agent.get(f"context/reports/{pk}")["inputs_expire_at"]
        agent.post(f"context/reports/{pk}/outcome", {"success": True}, 200)
    of_bodies = [each["sql"] for each in queries if "context_contextbody" in each["sql"]]
    assert len(of_bodies) == 2
    assert not any('"text"' in sql for sql in of_bodies)
