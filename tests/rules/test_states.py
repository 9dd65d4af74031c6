"""How far a rule may go, whoever asks and at the same time."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from django.db import connections
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM, Actor
from kmapp.accounts.models import Account
from kmapp.database.ids import uuid7
from kmapp.errors import Conflict, Denied, DomainError, Invalid
from kmapp.ledger.models import Commit
from rules.actions.promotions import (
    approve,
    request_or_promote,
    request_promotion,
    waiting_for,
    withdraw,
)
from rules.actions.rules import edit
from rules.actions.states import Decision, move, rollback
from rules.models import Rule, RuleFeedback, RulePromotion, RuleStatistics, RuleVersion
from tests.rules.making import PATH, gate, go, now, rate, rule, select

ADA, LIN = Actor("user", uuid7()), Actor("user", uuid7())
MOVES = {
    ("draft", "shadow"), ("draft", "disabled"), ("shadow", "active"), ("shadow", "draft"),
    ("shadow", "disabled"), ("active", "shadow"), ("active", "disabled"), ("disabled", "draft"),
    ("disabled", "shadow"),
}  # fmt: skip


@pytest.mark.parametrize("state", PATH)
@pytest.mark.parametrize("to", PATH)
def test_only_these_moves_are_allowed(acme: Account, state: str, to: str) -> None:
    made = rule(acme, "a rule", state)
    with acting(acme):
        commits = Commit.objects.of(acme).count()
    if (state, to) in MOVES:
        assert go(acme, made, to).state == to
    elif state == to:
        assert go(acme, made, to).version == made.version
    else:
        with pytest.raises(Conflict):
            go(acme, made, to)
    with acting(acme):
        assert Commit.objects.of(acme).count() == commits + ((state, to) in MOVES)
        last = RuleVersion.objects.of(acme).filter(rule=made).latest("version")
        assert last.state["state"] == now(made).state


def decision(made: Rule, actor: Actor = ADA, **more: Any) -> Decision:
    values: dict[str, Any] = {"reason": "because", "may_override": True, **more}
    return Decision(account_id=made.account_id, rule_id=made.pk, actor=actor, **values)


def test_the_gate_is_shut_without_evidence_or_a_reason(acme: Account) -> None:
    made = rule(acme, "a rule", "shadow", then={"tool": {"deny": ["vim"]}})
    with acting(acme), pytest.raises(Conflict, match="Not enough evidence"):
        move(decision(made, may_override=False), "active")
    with acting(acme), pytest.raises(Invalid, match="reason"):
        move(decision(made, reason=" "), "active")
    gate(acme, min_seen=3, min_changed=3, max_against=0.6)
    for i in range(3):
        rate(acme, select(acme, {"intent": "fetch", "n": i}), "negative")
    with acting(acme), pytest.raises(Conflict, match="0 decisions would have changed"):
        move(decision(made, may_override=False), "active")
    stricter = rule(acme, "no bash", "shadow", then={"tool": {"deny": ["bash"]}})
    for i in range(3):
        rate(acme, select(acme, {"intent": "fetch", "n": i}), "negative")
    with acting(acme):
        assert move(decision(stricter, may_override=False), "active").rule.state == "active"
    with acting(acme), pytest.raises(Denied):
        move(decision(stricter, may_touch_live=False), "disabled")


def test_an_active_rule_is_never_edited_in_place(acme: Account) -> None:
    live = rule(acme, "live", "active")
    with acting(acme):
        newer = edit(acme.pk, ADA, live.pk, {"then": {"tool": {"deny": ["bash"]}}})
        assert (newer.state, newer.edition, newer.lineage) == ("draft", 2, live.lineage)
        assert now(live).then == live.then
        with pytest.raises(Conflict, match="newer edition"):
            edit(acme.pk, ADA, live.pk, {"priority": 3})
        assert edit(acme.pk, ADA, newer.pk, {"priority": 3}).pk == newer.pk, "a draft is"
        renamed = edit(acme.pk, ADA, live.pk, {"name": "Another name"})
        assert (renamed.pk, renamed.state) == (live.pk, "active"), "a name is not obeyed"
        with pytest.raises(Conflict):
            move(decision(newer), "active")
    go(acme, newer, "shadow")
    go(acme, newer, "active")
    assert (now(live).state, now(newer).replaced) == ("disabled", live.pk)
    with acting(acme):
        rollback(decision(newer))
    assert (now(live).state, now(newer).state) == ("active", "shadow")
    with acting(acme), pytest.raises(Conflict):
        rollback(decision(newer))


def test_what_has_watched_is_fixed_even_as_a_draft(acme: Account) -> None:
    made = go(acme, rule(acme, "a rule", "shadow"), "draft")
    with acting(acme):
        assert edit(acme.pk, ADA, made.pk, {"priority": 1}).pk != made.pk


def test_a_second_person_approves_what_the_first_one_saw(acme: Account) -> None:
    gate(acme, second_person=True)
    made = rule(acme, "a rule")
    made = go(acme, made, "shadow")
    with acting(acme):
        with pytest.raises(Conflict, match="second person"):
            move(decision(made), "active")
        wish = request_or_promote(decision(made))
        assert isinstance(wish, RulePromotion)
        with pytest.raises(Denied):
            approve(decision(made, ADA), wish.pk)
        assert waiting_for(made) == (wish, False)
        assert approve(decision(made, LIN), wish.pk).rule.state == "active"
        with pytest.raises(Conflict, match="already decided"):
            approve(decision(made, LIN), wish.pk)


def test_a_stale_approval_is_void(acme: Account) -> None:
    live = rule(acme, "live", "active")
    with acting(acme):
        newer = edit(acme.pk, ADA, live.pk, {"priority": 7})
    newer = go(acme, newer, "shadow")
    gate(acme, second_person=True)
    with acting(acme):
        wish = request_promotion(decision(newer))
        move(decision(live), "shadow")  # what is live has changed
        assert waiting_for(newer)[1]
        with pytest.raises(Conflict, match="no longer valid"):
            approve(decision(newer, LIN), wish.pk)
        again = request_promotion(decision(newer))
        assert RulePromotion.objects.get(pk=wish.pk).status == "withdrawn"
        move(decision(newer), "draft")
        move(decision(newer), "shadow")  # the same words, but another time of watching
        with pytest.raises(Conflict, match="no longer valid"):
            approve(decision(newer, LIN), again.pk)
    assert now(newer).state == "shadow"


def at_once(deeds: list[Any]) -> list[str]:
    """Both at the same time; what became of each."""

    def do(deed: Any) -> str:
        try:
            deed()
        except DomainError as refused:
            return refused.code
        finally:
            connections.close_all()
        return "done"

    with ThreadPoolExecutor(len(deeds)) as pool:
        return sorted(pool.map(do, deeds))


def test_of_two_who_promote_at_once_one_is_told(committed: str, acme: Account) -> None:
    made = rule(acme, "a rule", "shadow")

    def promote(actor: Actor) -> None:
        with acting(acme):
            move(decision(made, actor, version=made.version), "active")

    assert at_once([lambda: promote(ADA), lambda: promote(LIN)]) == ["done", "stale_version"]
    with acting(acme):
        promoted = RuleVersion.objects.of(acme).filter(rule=made, event="PROMOTE")
        assert promoted.count() == 1


def test_of_two_editions_promoted_at_once_one_is_active(committed: str, acme: Account) -> None:
    live = rule(acme, "live", "active")
    with acting(acme):
        second = edit(acme.pk, ADA, live.pk, {"priority": 2})
    second = go(acme, second, "shadow")
    with acting(acme):
        third = edit(acme.pk, ADA, second.pk, {"priority": 3})
    third = go(acme, third, "shadow")

    def promote(made: Rule) -> None:
        with acting(acme):
            move(decision(made, version=made.version), "active")

    at_once([lambda: promote(second), lambda: promote(third)])
    states = sorted(now(one).state for one in (live, second, third))
    assert states == ["active", "disabled", "disabled"]


def test_of_two_who_approve_at_once_one_is_told(committed: str, acme: Account) -> None:
    made = rule(acme, "a rule", "shadow")
    with acting(acme):
        wish = request_promotion(decision(made))

    def approves(actor: Actor) -> None:
        with acting(acme):
            approve(decision(made, actor), wish.pk)

    others = [Actor("user", uuid7()) for _each in range(3)]
    outcomes = at_once([partial(approves, each) for each in others])
    assert outcomes == ["done", "stale_version", "stale_version"]
    with acting(acme):
        assert RulePromotion.objects.get(pk=wish.pk).status == "approved"
        assert RuleVersion.objects.of(acme).filter(rule=made, event="PROMOTE").count() == 1


@pytest.mark.parametrize("deed", [approve, withdraw])
def test_who_asks_anew_and_who_decides_wait_for_each_other(
    committed: str, acme: Account, deed: Any
) -> None:
    made = rule(acme, "a rule", "shadow")
    with acting(acme):
        wish = request_promotion(decision(made))

    def asks() -> None:
        with acting(acme):
            request_promotion(decision(made))

    def decides() -> None:
        with acting(acme):
            deed(decision(made, LIN), wish.pk)

    late = {approve: "shadow_first", withdraw: "done"}[deed]
    assert at_once([asks, decides]) in (["done", late], ["done", "stale_version"])
    with acting(acme):
        waiting = RulePromotion.objects.of(acme).filter(status="waiting")
        assert waiting.count() == (now(made).state == "shadow")


def test_feedback_counts_once_however_often_and_at_once(committed: str, acme: Account) -> None:
    made = rule(acme, "a rule", "active")
    decided = select(acme, {"intent": "fetch"})
    assert at_once([lambda: rate(acme, decided, "positive")] * 4) == ["done"] * 4
    rate(acme, decided, "negative", actor=SYSTEM)
    with acting(acme):
        counted = RuleStatistics.objects.get(rule=made)
        assert (counted.positive, counted.negative) == (1, 1)
        assert RuleFeedback.objects.of(acme).count() == 2


def test_a_rule_needs_no_exceptions(agent: Client) -> None:
    said = {"name": "No curl", "if": {"intent": "fetch"}, "then": {"tool": {"deny": ["curl"]}}}
    made = agent.post("/v1/rules", said, content_type="application/json")
    assert made.status_code == 201, made.content
    assert (made.json()["state"], made.json()["exceptions_json"]) == ("draft", [])
