"""Trying a rule on what was decided tells what it will see when it watches; and suggestions."""

from typing import Any

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.errors import Invalid
from kmapp.outbox.actions import deliver_due
from kmapp.outbox.registry import PermanentFailure
from rules.actions import backtests
from rules.actions.backtests import start
from rules.actions.rules import edit
from rules.actions.suggestions import suggest
from rules.models import Rule, RuleBacktest, RuleSuggestion
from rules.promotion.evidence import Evidence, Turn, evidence_of, turns_of
from tests import makers
from tests.rules.making import gate, go, now, rate, rule, select

CONTEXTS: list[dict[str, Any]] = [
    {"intent": ("fetch", "build")[i % 2], "n": i, "user": {"tier": ("pro", "free")[i % 3 > 0]}}
    for i in range(24)
]


def tried(account: Account, made: Rule) -> RuleBacktest:
    with acting(account):
        run = start(account.pk, SYSTEM, made.pk)
    makers.settle()
    with acting(account):
        return RuleBacktest.objects.get(pk=run.pk)


def evidence(made: Rule) -> Evidence:
    with acting(made.account_id):
        return evidence_of(now(made))


@pytest.mark.parametrize(
    "said",
    [
        {"when": {"intent": "fetch"}, "then": {"tool": {"deny": ["bash"]}}},
        {"when": {"user.tier": "pro"}, "then": {"tool": {"prefer": ["grep"]}}},
        {"when": {"n": {"$gt": 11}}, "then": {"output": {"strict": True}}},
        {"when": {}, "then": {"tool": {"allow": ["vim"]}}},
        {"when": {}, "then": {"tool": {"deny": ["vim"]}}},
        {"when": {}, "then": {"tool": {"deny": ["bash"]}}, "exceptions": [{"n": 3}, {"n": 4}]},
        {"when": {}, "audience": "agent", "audience_id": "bot-7"},
    ],
    ids=range(7),
)
def test_a_backtest_tells_what_watching_then_shows(acme: Account, said: dict[str, Any]) -> None:
    rule(acme, "live", "active", when={"user.tier": "free"}, then={"tool": {"prefer": ["curl"]}})
    draft = rule(acme, "draft", **said)
    for i, context in enumerate(CONTEXTS):
        select(acme, context, agent_id=("bot-7", "")[i % 2])
    test = tried(acme, draft)
    go(acme, draft, "shadow")
    for i, context in enumerate(CONTEXTS):
        select(acme, context, agent_id=("bot-7", "")[i % 2])
    seen = evidence(draft)
    assert test.status == "succeeded"
    assert (test.seen, test.matched, test.changed) == (seen.seen, seen.matched, seen.changed)
    assert test.seen > 0


def test_a_new_edition_is_tried_in_the_place_of_the_live_one(acme: Account) -> None:
    live = rule(acme, "live", "active")
    for context in CONTEXTS:
        select(acme, context)
    with acting(acme):
        narrower = edit(acme.pk, SYSTEM, live.pk, {"when": {"intent": "fetch", "n": 0}})
    test = tried(acme, narrower)
    go(acme, narrower, "shadow")
    for context in CONTEXTS:
        select(acme, context)
    seen = evidence(narrower)
    assert (test.matched, test.changed) == (1, 11), "curl comes back where it was denied"
    assert (seen.matched, seen.changed) == (1, 11)


def test_one_that_broke_off_says_so(acme: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    made = rule(acme, "Tried")
    select(acme, {"intent": "fetch"})
    with acting(acme):
        run = start(acme.pk, SYSTEM, made.pk)

    def gives_up(*_anything: object) -> None:
        raise PermanentFailure("It cannot be.")

    monkeypatch.setattr(backtests, "_piece", gives_up)
    deliver_due("default", seconds=30)
    with acting(acme):
        run.refresh_from_db()
    assert (run.status, run.is_going) == ("failed", False)
    assert run.finished_at


def test_a_rule_that_cannot_apply_is_not_tried(acme: Account) -> None:
    wrong = rule(acme, "wrong", then={"output": {"format": "xml"}})
    with acting(acme), pytest.raises(Invalid):
        start(acme.pk, SYSTEM, wrong.pk)


def test_evidence_counts_feedback_on_both_sides(acme: Account) -> None:
    watching = rule(acme, "no bash", "shadow", then={"tool": {"deny": ["bash"]}})
    outcomes = ["positive", "negative", "negative", "neutral"]
    for i, outcome in enumerate(outcomes):
        rate(acme, select(acme, {"intent": "fetch", "n": i}), outcome)
        rate(acme, select(acme, {"intent": "build", "n": i}), outcome)
    seen = evidence(watching)
    assert (seen.seen, seen.matched, seen.changed) == (8, 4, 4)
    assert (seen.changed_good, seen.changed_bad) == (1, 2)
    assert (seen.against.hits, seen.against.total) == (1, 3)


def test_evidence_tells_what_would_turn_into_what(acme: Account) -> None:
    watching = rule(acme, "no bash", "shadow", then={"tool": {"deny": ["bash"]}})
    for outcome in ("positive", "negative", "very_negative", "neutral"):
        rate(acme, select(acme, {"intent": "fetch"}), outcome)
    select(acme, {"intent": "build"})
    live = rule(acme, "live", "active", then={"tool": {"prefer": ["curl"]}})
    select(acme, {"intent": "fetch"})
    go(acme, live, "disabled")
    rule(acme, "none", "active", when={"n": 1}, then={"tool": {"allow": ["bash"]}})
    select(acme, {"intent": "fetch", "n": 1})
    with acting(acme):
        turns = turns_of(now(watching))
    assert turns == [
        Turn(selected="bash", would_select="curl", times=5, positive=1, negative=2),
        Turn(selected="curl", would_select="curl", times=1, positive=0, negative=0),
    ]


def test_the_job_suggests_and_changes_no_state(acme: Account) -> None:
    gate(acme, min_seen=4, min_changed=2, max_against=0.7)
    good = rule(acme, "good", "shadow", then={"tool": {"deny": ["bash"]}})
    rule(acme, "silent", "shadow", when={"intent": "never"})
    bad = rule(acme, "bad", "active", when={}, then={"tool": {"prefer": ["bash"]}})
    for i in range(12):
        rate(acme, select(acme, {"intent": "fetch", "n": i}), "very_negative")
    before = {one.pk: one.version for one in (good, bad)}
    with acting(acme):
        for _ in range(2):
            assert suggest(acme.pk) == 2
        found = {s.rule_id: s.kind for s in RuleSuggestion.objects.of(acme)}
    assert found == {good.pk: "promote", bad.pk: "demote"}
    assert {one.pk: now(one).version for one in (good, bad)} == before
