"""Costs over time, possible savings, and assignment and comparison of variants."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries as MaxQueries

from context.assembly.prompt_inputs import Section
from context.assembly.variant_assignment import assign_variant
from context.models import ContextCostReport
from context.models.archives import ArchiveScope
from context.reports.costs import Period, Totals, calculate_totals
from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.errors import Invalid
from tests import makers
from tests.agent import Agent
from tests.context.builders import call, configure, set_prices, talk, tool

CALLED, IDLE = tool("search_manual"), tool("dig", words=300)


def costs(agent: Agent, **query: Any) -> Any:
    return agent.get("context/costs", **query)


def test_parts_add_up_to_the_total(agent: Agent, acme: Account) -> None:
    set_prices(acme, small={"input": 2, "output": 10})
    for number in range(4):
        call(acme, talk(2), agent_id=f"a{number % 2}", model="small", tools=[CALLED])
    call(acme, talk(1), agent_id="a0", model="large")
    with acting(acme):
        rows = list(ContextCostReport.objects.of(acme).order_by("pk"))
    whole = sum(row.total for row in rows)
    for by in ("section", "agent", "model", "variant"):
        result = costs(agent, by=by)
        assert (result["calls"], result["tokens"]) == (5, whole)
        assert sum(part["tokens"] for part in result["parts"]) == whole
        assert sum(part["share"] for part in result["parts"]) == pytest.approx(1)
        assert sum(part["cost"] or 0 for part in result["parts"]) == pytest.approx(result["cost"])
        assert sum(sum(day["tokens"].values()) for day in result["by_day"]) == whole
    for part in costs(agent)["parts"]:
        assert part["tokens"] == sum(getattr(row, part["name"]) for row in rows)
    [one] = costs(agent, by="tool")["parts"]
    assert (one["name"], one["calls"]) == ("search_manual", 4)
    assert one["tokens"] == sum(row.tools_schema for row in rows)
    assert costs(agent, by="model")["parts"][1] == {
        **costs(agent, by="model", model="large")["parts"][0],
        "share": rows[-1].total / whole,
        "cost": None,
    }


def test_first_call_during_the_request_is_no_error(
    agent: Agent, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Totals(calls=0, tokens=0, cost=None, agents=0)
    monkeypatch.setattr("context.api.costs.calculate_totals", lambda _period: before)
    call(acme, talk(1), agent_id="a0")
    [part] = costs(agent, by="agent")["parts"]
    assert (part["name"], part["share"]) == ("a0", 1)


def test_costs_are_grouped_by_day(agent: Agent, acme: Account) -> None:
    for ago in (0, 1, 8):
        calls = call(acme, talk(1), agent_id="a")
        moment = timezone.now() - timedelta(days=ago)
        makers.update(ContextCostReport, acme, {"pk": calls.report_id}, created_at=moment)
    result = costs(agent, days=7, by="agent")
    assert result["calls"] == 2
    assert [bool(day["tokens"]) for day in result["by_day"]] == [False] * 5 + [True] * 2
    assert costs(agent, days=9)["calls"] == 3


def test_parts_are_paginated(agent: Agent, acme: Account) -> None:
    for number in range(3):
        call(acme, talk(number + 1), agent_id=f"a{number}")
    first = costs(agent, by="agent", limit=2)
    assert [part["name"] for part in first["parts"]] == ["a2", "a1"]
    assert first["next"] == 2
    rest = costs(agent, by="agent", limit=2, offset=2)
    assert [part["name"] for part in rest["parts"]] == ["a0"]
    assert rest["next"] is None
    assert first["by_day"][-1]["other"] == rest["parts"][0]["tokens"]


def test_unused_tool_is_a_saving(agent: Agent, acme: Account) -> None:
    set_prices(acme, small={"input": 2})
    for number in range(20):
        assert costs(agent)["savings"] == []
        within = ArchiveScope(conversation_id=f"c{number}")
        call(acme, talk(2), within=within, model="small", tools=[CALLED, IDLE])
    [saving] = costs(agent)["savings"]
    rows = makers.rows(ContextCostReport, acme)
    idle = sum(row.tool_tokens["dig"] for row in rows)
    assert rows[0].called_tools == ["search_manual"]
    assert saving == {
        "kind": "idle_tool",
        "name": "dig",
        "calls": 20,
        "among": 20,
        "tokens": idle,
        "share": idle / sum(row.total for row in rows),
        "cost": pytest.approx(idle * 2 / 1_000_000),
    }


def test_moving_prefixes_and_repeated_results_are_savings(agent: Agent, acme: Account) -> None:
    set_prices(acme, small={"input": 2, "cached": 0.5})
    calls = [
        call(acme, talk(2), model="small", sections=[Section(name="now", text=f"It is {at}.")])
        for at in range(21)
    ]
    again, moving = costs(agent)["savings"]
    first = calls[0].report["estimated_tokens"]
    assert (again["kind"], again["calls"], again["among"]) == ("repeated_results", 20, 20)
    assert again["tokens"] == 20 * first["tool_results"]
    assert (moving["kind"], moving["calls"]) == ("moving_prefix", 20)
    assert moving["cost"] == pytest.approx(moving["tokens"] * 1.5 / 1_000_000)


def test_query_count(agent: Agent, acme: Account, max_queries: MaxQueries) -> None:
    for _ in range(20):
        call(acme, talk(1), tools=[CALLED])
    with max_queries(18):
        costs(agent, by="tool")


def test_rejects_invalid_requests(agent: Agent) -> None:
    invalid: list[dict[str, Any]] = [{"by": "weather"}, {"days": 0}, {"days": 999}, {"limit": 999}]
    for query in invalid:
        assert agent.get("context/costs", 400, **query)["issues"], query


def test_period_is_read_by_an_index(acme: Account) -> None:
    period = Period(account_id=acme.pk, days=7, prices={})
    with acting(acme), CaptureQueriesContext(connection) as statements:
        calculate_totals(period)
    # Without scans and sorts the planner has to use the index, however few the rows.
    plan = makers.explain(acme, statements[0]["sql"], "seqscan", "bitmapscan", "sort")
    assert "reports_and_decisions" in plan


ACCOUNT = UUID(int=7)


def test_variants_are_assigned_by_share() -> None:
    shares = {"v1": 70, "v2": 30}
    assignments = {f"c{at}": assign_variant(ACCOUNT, f"c{at}", shares) for at in range(4_000)}
    assert all(
        assign_variant(ACCOUNT, name, shares) == variant for name, variant in assignments.items()
    )
    assert sum(variant == "v2" for variant in assignments.values()) == pytest.approx(1_200, rel=0.1)
    # Another account assigns its conversations differently.
    assert any(
        assign_variant(UUID(int=8), name, shares) != assignments[name] for name in assignments
    )
    # A larger share of one variant takes conversations only from the other.
    more = {name: assign_variant(ACCOUNT, name, {"v1": 80, "v2": 20}) for name in assignments}
    assert all(more[name] == "v1" for name, variant in assignments.items() if variant == "v1")


@pytest.mark.parametrize(("conversation", "shares"), [("", {"v2": 100}), ("c1", {})])
def test_no_conversation_or_shares_assigns_nothing(
    conversation: str, shares: dict[str, int]
) -> None:
    assert assign_variant(ACCOUNT, conversation, shares) is None


def assemble(agent: Agent, conversation: str = "", **headers: str) -> Any:
    values = [{"role": "user", "content": "Hello."}]
    body = {"messages": values, "model": "small", "sources": [], "conversation_id": conversation}
    return agent.post("context/assemble", body, 201, **headers)


def test_call_states_its_variant_and_its_origin(agent: Agent) -> None:
    def chosen(*values: str, **headers: str) -> tuple[str, str]:
        cost = assemble(agent, *values, **headers)["context_cost"]
        return cost["variant"], cost["variant_by"]

    assert chosen("c1") == ("v1", "default")
    agent.post("context/settings", {"variants": {"v3": 100}}, 200)
    assert chosen("c1") == ("v3", "assigned")
    assert chosen() == ("v1", "default")
    assert chosen("c1", **{"X-KM-Variant": "v2"}) == ("v2", "asked")
    assert len(agent.get("context/reports", variant="v3")["results"]) == 1


def test_outcomes_compare_variants(agent: Agent, acme: Account) -> None:
    set_prices(acme, small={"input": 500_000, "output": 0})
    for variant, successes in (("v1", (True, True, False, None)), ("v2", (False,))):
        for at, success in enumerate(successes):
            call = assemble(agent, f"c{at % 2}", **{"X-KM-Variant": variant})
            outcome = {"latency_ms": 100 * (at + 1), "usage": {"input_tokens": 10}}
            path = f"context/reports/{call['report_id']}/outcome"
            agent.post(path, {**outcome, "success": success}, 200)
    one, other = agent.get("context/variants")["results"]
    assert (one["variant"], one["calls"], one["conversations"]) == ("v1", 4, 2)
    assert (one["told"], one["succeeded"], one["success"]) == (3, 2, pytest.approx(2 / 3))
    assert one["success_low"] < 2 / 3 < one["success_high"]
    assert (one["latency_ms"], one["latency_p95_ms"]) == (250, pytest.approx(385))
    assert one["cost"] == pytest.approx(5)
    assert (other["variant"], other["success"]) == ("v2", 0)
    assert agent.get("context/variants", agent_id="nobody")["results"] == []


def test_rejects_invalid_settings(agent: Agent, acme: Account) -> None:
    invalid: list[dict[str, Any]] = [
        {"variants": {"v1": 50}},
        {"variants": {"v1": 0, "v2": 100}},
        {"variants": {"v9": 100}},
        {"prices": {"m": {"output": 1}}},
        {"prices": {"m": {"input": -1}}},
        {"prices": ["m"]},
        {"policy": {"protected_turns": 0}},
        {"policy": {"unknown": 1}},
        {"inputs_days": 0},
    ]
    for body in invalid:
        assert agent.post("context/settings", body, 400)["issues"], body
    with pytest.raises(Invalid):  # refused by the action as well
        configure(acme, prices=["m"])


def test_settings_are_changed_one_by_one_with_a_version(agent: Agent) -> None:
    before = agent.get("context/settings")
    assert (before["inputs_days"], before["policy"], before["version"]) == (30, {}, 0)
    values = {"policy": {"protected_turns": 3}, "version": 0, "reason": "Long talks."}
    after = agent.post("context/settings", values, 200)
    assert after["effective_policy"]["protected_turns"] == 3
    assert after["version"] == 1
    assert agent.post("context/settings", {"inputs_days": 9, "version": 0}, 409)
    last = agent.post("context/settings", {"inputs_days": 9}, 200)
    assert (last["inputs_days"], last["policy"]) == (9, {"protected_turns": 3})
