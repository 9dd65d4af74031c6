"""Two policies over the last calls: the differences are known before."""

from typing import Any

import pytest

from context.actions import comparisons
from context.actions.comparisons import run_comparison
from context.actions.retention import remove_expired_inputs
from context.models import ContextComparison, ContextDifference, ContextInput
from context.models.archives import ArchiveScope
from context.reports.comparison_totals import EDGES, Pair, summarise_changes
from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.outbox.actions import deliver_due, replay
from kmapp.outbox.registry import PermanentFailure
from tests.agent import Agent
from tests.context.calling import call, priced, talk
from tests.makers import settle

pytestmark = pytest.mark.django_db


def compared(agent: Agent, **asked: Any) -> Any:
    made = agent.post("context/comparisons", asked, 202)
    assert made["status"] == "pending"
    settle()
    return agent.get(f"context/comparisons/{made['id']}")


def calls_of(agent: Agent, made: Any, **asked: Any) -> Any:
    return agent.get(f"context/comparisons/{made['id']}/calls", **asked)["results"]


def test_differences_are_those_that_are_known_before(agent: Agent, acme: Account) -> None:
    priced(acme, small={"input": 2})
    memory = agent.post("memory/store", {"text": "The kiln is by the pond.", "user_id": "u"}, 201)
    plain = call(acme, talk(1), model="small")
    found = call(
        acme, talk(1), sources=("memory",), within=ArchiveScope(user_id="u"), model="small"
    )
    nothing = {"snippet_tokens": 0, "most_snippet_tokens": 0}
    made = compared(agent, right={"policy": nothing})
    total = found.report["estimated_tokens"]["total"]
    less = found.report["estimated_tokens"]["memory_knowledge"]
    other = plain.report["estimated_tokens"]["total"]
    assert (made["status"], made["done"], made["total"], made["gone"]) == ("succeeded", 2, 2, 0)
    said = made["summary"]
    assert (said["changed"], said["losing_evidence"], said["evidence_lost"]) == (1, 1, 1)
    assert (said["no_longer_fitting"], said["larger"]) == (0, 0)
    assert said["dropped_after"] - said["dropped_before"] == 1
    assert said["distribution"]["before"] == total + other
    assert said["distribution"]["after"] == total + other - less
    assert said["cost_before"] == pytest.approx((total + other) * 2 / 1_000_000)
    assert said["cost_after"] == pytest.approx((total + other - less) * 2 / 1_000_000)
    [one] = calls_of(agent, made)
    assert one["report_id"] == str(found.report_id)
    assert one["evidence_lost"] == [f"memory:{memory['id']}"]
    assert len(calls_of(agent, made, show="all")) == 2
    assert calls_of(agent, made, show="no_longer_fitting") == []


def test_a_side_compared_with_itself_is_the_same(agent: Agent, acme: Account) -> None:
    call(acme, talk(6, characters=600), window=1_000, reserve=100, policy={"prune": []})
    tight = {"policy": {"summary_tokens": 100}}
    made = compared(agent, left=tight, right=tight)
    assert made["summary"]["changed"] == 0
    assert made["summary"]["distribution"]["percent"] == 0


def test_what_no_longer_fits_is_counted_apart(agent: Agent, acme: Account) -> None:
    call(acme, talk(1))
    tiny = {"context_window_tokens": 50, "reserved_output_tokens": 0}
    made = compared(agent, right=tiny)
    assert made["summary"]["no_longer_fitting"] == 1
    assert made["summary"]["distribution"]["calls"] == 0
    back = compared(agent, left=tiny, right={})
    assert back["summary"]["newly_fitting"] == 1


def test_calls_are_chosen_and_those_without_inputs_are_counted(agent: Agent, acme: Account) -> None:
    made = [call(acme, talk(1), agent_id=f"a{number % 2}") for number in range(4)]
    with acting(acme):
        ContextInput.objects.of(acme).filter(report=made[0].report_id).delete()
    assert compared(agent, right={}, agent_id="a1")["total"] == 2
    assert compared(agent, right={}, calls=3)["gone"] == 0
    whole = compared(agent, right={})
    assert (whole["done"], whole["gone"], whole["summary"]["distribution"]["calls"]) == (4, 1, 3)


def test_a_comparison_that_runs_twice_counts_once(agent: Agent, acme: Account) -> None:

    call(acme, talk(1))
    made = compared(agent, right={})
    with acting(acme):
        ContextComparison.objects.of(acme).update(status="running")
    run_comparison(acme.pk, made["id"])
    with acting(acme):
        assert ContextDifference.objects.of(acme).count() == 1


def test_one_that_broke_off_says_so_until_it_is_tried_again(
    agent: Agent, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(acme, talk(1))
    made = agent.post("context/comparisons", {"right": {}}, 202)
    with monkeypatch.context() as broken:
        broken.setattr(comparisons, "compare_changes", _gives_up)
        deliver_due("default", seconds=30)
    assert agent.get(f"context/comparisons/{made['id']}")["status"] == "failed"
    with acting(acme):
        assert replay(acme.pk) == 1
    deliver_due("default", seconds=30)
    said = agent.get(f"context/comparisons/{made['id']}")
    assert (said["status"], said["done"]) == ("succeeded", 1)


def _gives_up(*_anything: object) -> Any:
    raise PermanentFailure("It cannot be.")


def test_they_go_with_what_calls_were_made_of(agent: Agent, acme: Account) -> None:
    call(acme, talk(1))
    compared(agent, right={})
    remove_expired_inputs(acme.pk)
    with acting(acme):
        assert ContextDifference.objects.of(acme).count() == 1
        ContextComparison.objects.of(acme).update(created_at="2026-01-01T00:00:00Z")
    remove_expired_inputs(acme.pk)
    with acting(acme):
        assert not ContextComparison.objects.of(acme).exists()
        assert not ContextDifference.objects.of(acme).exists()


def test_lists_are_paged(agent: Agent, acme: Account) -> None:
    for _ in range(3):
        call(acme, talk(1))
    ids = [compared(agent, right={})["id"] for _ in range(3)]
    first = agent.get("context/comparisons", limit=2)
    assert [each["id"] for each in first["results"]] == ids[:0:-1]
    rest = agent.get("context/comparisons", limit=2, offset=first["next"])
    assert ([each["id"] for each in rest["results"]], rest["next"]) == ([ids[0]], None)
    page = agent.get(f"context/comparisons/{ids[0]}/calls", show="all", limit=2)
    assert (len(page["results"]), page["next"]) == (2, 2)


@pytest.mark.parametrize(
    "wrong",
    [{}, {"right": {"policy": {"nothing": 1}}}, {"right": {}, "calls": 0}, {"right": "other"}],
)
def test_what_makes_no_sense_is_refused(agent: Agent, wrong: Any) -> None:
    assert agent.post("context/comparisons", wrong, 400)["issues"]


def test_every_change_is_in_one_bucket() -> None:
    pairs = [Pair(1_000, after) for after in (0, 500, 899, 900, 989, 990, 1_000, 1_010, 2_000)]
    found = summarise_changes(pairs)
    assert sum(bucket.calls for bucket in found.buckets) == len(pairs)
    assert [bucket.calls for bucket in found.buckets] == [1, 1, 0 + 1, 2, 2, 1, 0, 0, 1]
    assert len(found.buckets) == len(EDGES) + 1
    assert summarise_changes([]).buckets == []
