"""Costs over time: parts that add up to the whole, and savings that are known before."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from context.assembly.calls import Section
from context.models import ContextCostReport
from context.models.archives import ArchiveScope
from context.reports.costs import Period, calculate_totals
from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from tests.agent import Agent
from tests.context.calling import call, priced, talk, tool

pytestmark = pytest.mark.django_db
CALLED, IDLE = tool("search_manual"), tool("dig", words=300)


def asked(agent: Agent, **said: Any) -> Any:
    return agent.get("context/costs", **said)


def test_parts_add_up_to_the_calls(agent: Agent, acme: Account) -> None:
    priced(acme, small={"input": 2, "output": 10})
    for number in range(4):
        call(acme, talk(2), agent_id=f"a{number % 2}", model="small", tools=[CALLED])
    call(acme, talk(1), agent_id="a0", model="large")
    with acting(acme):
        rows = list(ContextCostReport.objects.of(acme).order_by("pk"))
    whole = sum(row.total for row in rows)
    for by in ("section", "agent", "model", "variant"):
        found = asked(agent, by=by)
        assert (found["calls"], found["tokens"]) == (5, whole)
        assert sum(part["tokens"] for part in found["parts"]) == whole
        assert sum(part["share"] for part in found["parts"]) == pytest.approx(1)
        assert sum(part["cost"] or 0 for part in found["parts"]) == pytest.approx(found["cost"])
        assert sum(sum(day["tokens"].values()) for day in found["by_day"]) == whole
    for part in asked(agent)["parts"]:
        assert part["tokens"] == sum(getattr(row, part["name"]) for row in rows)
    [one] = asked(agent, by="tool")["parts"]
    assert (one["name"], one["calls"]) == ("search_manual", 4)
    assert one["tokens"] == sum(row.tools_schema for row in rows)
    assert asked(agent, by="model")["parts"][1] == {
        **asked(agent, by="model", model="large")["parts"][0],
        "share": rows[-1].total / whole,
        "cost": None,
    }


def test_days_are_apart_and_those_before_are_left_out(agent: Agent, acme: Account) -> None:
    for ago in (0, 1, 8):
        made = call(acme, talk(1), agent_id="a")
        moment = timezone.now() - timedelta(days=ago)
        with acting(acme):
            ContextCostReport.objects.filter(pk=made.report_id).update(created_at=moment)
    found = asked(agent, days=7, by="agent")
    assert found["calls"] == 2
    assert [bool(day["tokens"]) for day in found["by_day"]] == [False] * 5 + [True] * 2
    assert asked(agent, days=9)["calls"] == 3


def test_parts_are_paged_and_the_rest_of_a_day_is_told(agent: Agent, acme: Account) -> None:
    for number in range(3):
        call(acme, talk(number + 1), agent_id=f"a{number}")
    first = asked(agent, by="agent", limit=2)
    assert [part["name"] for part in first["parts"]] == ["a2", "a1"]
    assert first["next"] == 2
    rest = asked(agent, by="agent", limit=2, offset=2)
    assert [part["name"] for part in rest["parts"]] == ["a0"]
    assert rest["next"] is None
    assert first["by_day"][-1]["other"] == rest["parts"][0]["tokens"]


def test_a_tool_that_nobody_calls_is_named_with_what_it_costs(agent: Agent, acme: Account) -> None:
    priced(acme, small={"input": 2})
    for number in range(20):
        assert asked(agent)["savings"] == []
        within = ArchiveScope(conversation_id=f"c{number}")
        call(acme, talk(2), within=within, model="small", tools=[CALLED, IDLE])
    [saving] = asked(agent)["savings"]
    with acting(acme):
        rows = list(ContextCostReport.objects.of(acme))
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


def test_prefixes_that_move_and_results_that_return_are_told(agent: Agent, acme: Account) -> None:
    priced(acme, small={"input": 2, "cached": 0.5})
    made = [
        call(acme, talk(2), model="small", sections=[Section(name="now", text=f"It is {at}.")])
        for at in range(21)
    ]
    again, moving = asked(agent)["savings"]
    first = made[0].report["estimated_tokens"]
    assert (again["kind"], again["calls"], again["among"]) == ("repeated_results", 20, 20)
    assert again["tokens"] == 20 * first["tool_results"]
    assert (moving["kind"], moving["calls"]) == ("moving_prefix", 20)
    assert moving["cost"] == pytest.approx(moving["tokens"] * 1.5 / 1_000_000)


def test_reading_takes_few_queries_however_many_calls(
    agent: Agent, acme: Account, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(20):
        call(acme, talk(1), tools=[CALLED])
    with django_assert_max_num_queries(18):
        asked(agent, by="tool")


@pytest.mark.parametrize("wrong", [{"by": "weather"}, {"days": 0}, {"days": 999}, {"limit": 999}])
def test_what_makes_no_sense_is_refused(agent: Agent, wrong: dict[str, Any]) -> None:
    assert agent.get("context/costs", 400, **wrong)["issues"]


def test_the_period_is_read_by_an_index(acme: Account) -> None:
    period = Period(account_id=acme.pk, days=7, prices={})
    with acting(acme), CaptureQueriesContext(connection) as heard, connection.cursor() as cursor:
        calculate_totals(period)
        # Any plan is cheap over so few rows: one that neither reads all nor sorts is left.
        for dear in ("seqscan", "bitmapscan", "sort"):
            cursor.execute(f"SET LOCAL enable_{dear} = off")
        cursor.execute("EXPLAIN " + heard[0]["sql"])
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "reports_and_decisions" in plan
