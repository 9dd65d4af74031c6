"""Comparison of two policies over recorded calls."""

from typing import Any

import pytest

from context.actions import comparisons
from context.actions.comparisons import run_comparison
from context.actions.input_retention import remove_expired_inputs
from context.actions.replays import compare_changes
from context.models import (
    ContextComparison,
    ContextCostReport,
    ContextDifference,
    ContextInput,
)
from context.models.archives import ArchiveScope
from context.reports.token_change_distribution import EDGES, TokenChange, summarise_changes
from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.outbox.deliver import deliver_due
from kmapp.outbox.failed_deliveries import retry_deliveries
from kmapp.outbox.registry import PermanentFailure, RetryLater
from tests import makers
from tests.agent import Agent
from tests.context.builders import call, set_prices, talk
from tests.makers import settle


def compare(agent: Agent, **query: Any) -> Any:
    comparison = agent.post("context/comparisons", query, 202)
    assert comparison["status"] == "pending"
    settle()
    return agent.get(f"context/comparisons/{comparison['id']}")


def calls_of(agent: Agent, comparison: Any, **query: Any) -> Any:
    return agent.get(f"context/comparisons/{comparison['id']}/calls", **query)["results"]


def test_comparison_computes_the_differences(agent: Agent, acme: Account) -> None:
    set_prices(acme, small={"input": 2})
    memory = agent.post("memory/store", {"text": "The kiln is by the pond.", "user_id": "u"}, 201)
    plain = call(acme, talk(1), model="small")
    retrieved = call(
        acme, talk(1), sources=("memory",), within=ArchiveScope(user_id="u"), model="small"
    )
    nothing = {"snippet_tokens": 0, "most_snippet_tokens": 0}
    comparison = compare(agent, right={"policy": nothing})
    total = retrieved.report["estimated_tokens"]["total"]
    less = retrieved.report["estimated_tokens"]["memory_knowledge"]
    other = plain.report["estimated_tokens"]["total"]
    assert (comparison["status"], comparison["done"], comparison["total"], comparison["gone"]) == (
        "succeeded",
        2,
        2,
        0,
    )
    summary = comparison["summary"]
    assert (summary["changed"], summary["losing_evidence"], summary["evidence_lost"]) == (1, 1, 1)
    assert (summary["no_longer_fitting"], summary["larger"]) == (0, 0)
    assert summary["dropped_after"] - summary["dropped_before"] == 1
    assert summary["distribution"]["before"] == total + other
    assert summary["distribution"]["after"] == total + other - less
    assert summary["cost_before"] == pytest.approx((total + other) * 2 / 1_000_000)
    assert summary["cost_after"] == pytest.approx((total + other - less) * 2 / 1_000_000)
    [one] = calls_of(agent, comparison)
    assert one["report_id"] == str(retrieved.report_id)
    assert one["evidence_lost"] == [f"memory:{memory['id']}"]
    assert len(calls_of(agent, comparison, show="all")) == 2
    assert calls_of(agent, comparison, show="no_longer_fitting") == []


def test_equal_sides_have_no_differences(agent: Agent, acme: Account) -> None:
    call(acme, talk(6, characters=600), window=1_000, reserve=100, policy={"prune": []})
    tight = {"policy": {"summary_tokens": 100}}
    comparison = compare(agent, left=tight, right=tight)
    assert comparison["summary"]["changed"] == 0
    assert comparison["summary"]["distribution"]["percent"] == 0


def test_calls_that_stop_fitting_are_counted_apart(agent: Agent, acme: Account) -> None:
    call(acme, talk(1))
    tiny = {"context_window_tokens": 50, "reserved_output_tokens": 0}
    comparison = compare(agent, right=tiny)
    assert comparison["summary"]["no_longer_fitting"] == 1
    assert comparison["summary"]["distribution"]["calls"] == 0
    back = compare(agent, left=tiny, right={})
    assert back["summary"]["newly_fitting"] == 1


def test_calls_are_filtered_and_missing_inputs_counted(agent: Agent, acme: Account) -> None:
    comparison = [call(acme, talk(1), agent_id=f"a{number % 2}") for number in range(4)]
    with acting(acme):
        ContextInput.objects.of(acme).filter(report=comparison[0].report_id).delete()
    assert compare(agent, right={}, agent_id="a1")["total"] == 2
    assert compare(agent, right={}, calls=3)["gone"] == 0
    whole = compare(agent, right={})
    assert (whole["done"], whole["gone"], whole["summary"]["distribution"]["calls"]) == (4, 1, 3)


def test_repeated_run_counts_once(agent: Agent, acme: Account) -> None:

    call(acme, talk(1))
    comparison = compare(agent, right={})
    makers.update(ContextComparison, acme, {}, status="running")
    run_comparison(acme.pk, comparison["id"])
    assert makers.count(ContextDifference, acme) == 1


def test_long_comparison_is_continued_by_later_runs(
    agent: Agent, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        call(acme, talk(1))
    compared: list[object] = []

    def compare_one(*values: Any) -> Any:
        compared.append(values[0])
        return compare_changes(*values)

    monkeypatch.setattr(comparisons, "compare_changes", compare_one)
    monkeypatch.setattr(comparisons, "BATCH", 1)
    monkeypatch.setattr(comparisons, "RUN_SECONDS", 0.0)
    comparison = compare(agent, right={})
    assert (comparison["status"], comparison["done"], comparison["total"]) == ("succeeded", 3, 3)
    assert len(compared) == makers.count(ContextDifference, acme) == 3


def begin_comparison(
    agent: Agent, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """Start a comparison whose run ends after the first call."""
    comparison: dict[str, Any] = agent.post("context/comparisons", {"right": {}}, 202)
    with monkeypatch.context() as short:
        short.setattr(comparisons, "BATCH", 1)
        short.setattr(comparisons, "RUN_SECONDS", 0.0)
        with pytest.raises(RetryLater):
            run_comparison(acme.pk, comparison["id"])
    return comparison


def test_call_that_is_recorded_late_does_not_stop_a_comparison(
    agent: Agent, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        call(acme, talk(1))
    comparison = begin_comparison(agent, acme, monkeypatch)
    late, moment = call(acme, talk(1)), comparison["created_at"]
    makers.update(ContextCostReport, acme, {"pk": late.report_id}, created_at=moment)
    run_comparison(acme.pk, comparison["id"])
    assert agent.get(f"context/comparisons/{comparison['id']}")["status"] == "succeeded"
    assert makers.count(ContextDifference, acme) == 2


@pytest.mark.parametrize("has_inputs", [True, False])
def test_erasure_between_runs_skips_no_other_call(
    agent: Agent, acme: Account, monkeypatch: pytest.MonkeyPatch, *, has_inputs: bool
) -> None:
    *_, newest = [
        call(acme, talk(1), within=ArchiveScope(user_id=user)) for user in ("ann", "ben", "cem")
    ]
    if not has_inputs:
        with acting(acme):
            ContextInput.objects.of(acme).filter(report=newest.report_id).delete()
    comparison = begin_comparison(agent, acme, monkeypatch)
    agent.erase(user_id="cem")
    run_comparison(acme.pk, comparison["id"])
    after = agent.get(f"context/comparisons/{comparison['id']}")
    assert (after["status"], after["done"], after["total"], after["gone"]) == (
        "succeeded",
        2,
        2,
        0,
    )
    assert makers.count(ContextDifference, acme) == 2


def test_aborted_comparison_is_failed_until_retried(
    agent: Agent, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(acme, talk(1))
    comparison = agent.post("context/comparisons", {"right": {}}, 202)
    with monkeypatch.context() as broken:
        broken.setattr(comparisons, "compare_changes", fail)
        deliver_due("default", seconds=30)
    assert agent.get(f"context/comparisons/{comparison['id']}")["status"] == "failed"
    with acting(acme):
        assert retry_deliveries(acme.pk) == 1
    deliver_due("default", seconds=30)
    summary = agent.get(f"context/comparisons/{comparison['id']}")
    assert (summary["status"], summary["done"]) == ("succeeded", 1)


def fail(*_anything: object) -> Any:
    raise PermanentFailure("It cannot be.")


def test_old_comparisons_are_deleted_with_inputs(agent: Agent, acme: Account) -> None:
    call(acme, talk(1))
    compare(agent, right={})
    remove_expired_inputs(acme.pk)
    with acting(acme):
        assert ContextDifference.objects.of(acme).count() == 1
        ContextComparison.objects.of(acme).update(created_at="2026-01-01T00:00:00Z")
    remove_expired_inputs(acme.pk)
    with acting(acme):
        assert not ContextComparison.objects.of(acme).exists()
        assert not ContextDifference.objects.of(acme).exists()


def test_lists_are_paginated(agent: Agent, acme: Account) -> None:
    for _ in range(3):
        call(acme, talk(1))
    ids = [compare(agent, right={})["id"] for _ in range(3)]
    first = agent.get("context/comparisons", limit=2)
    assert [each["id"] for each in first["results"]] == ids[:0:-1]
    rest = agent.get("context/comparisons", limit=2, offset=first["next"])
    assert ([each["id"] for each in rest["results"]], rest["next"]) == ([ids[0]], None)
    page = agent.get(f"context/comparisons/{ids[0]}/calls", show="all", limit=2)
    assert (len(page["results"]), page["next"]) == (2, 2)


def test_rejects_invalid_requests(agent: Agent) -> None:
    invalid: list[dict[str, Any]] = [{}, {"right": {"policy": {"nothing": 1}}}, {"right": "other"}]
    for body in (*invalid, {"right": {}, "calls": 0}):
        assert agent.post("context/comparisons", body, 400)["issues"], body


def test_each_change_is_in_one_bucket() -> None:
    pairs = [
        TokenChange(1_000, after) for after in (0, 500, 899, 900, 989, 990, 1_000, 1_010, 2_000)
    ]
    retrieved = summarise_changes(pairs)
    assert sum(bucket.calls for bucket in retrieved.buckets) == len(pairs)
    assert [bucket.calls for bucket in retrieved.buckets] == [1, 1, 0 + 1, 2, 2, 1, 0, 0, 1]
    assert len(retrieved.buckets) == len(EDGES) + 1
    assert summarise_changes([]).buckets == []
