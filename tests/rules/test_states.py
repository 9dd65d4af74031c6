"""States of rules and their changes, also concurrent ones."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
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
from rules.actions.promotion_requests import (
    approve_request,
    find_pending_request,
    is_void,
    request_or_promote,
    request_promotion,
    withdraw_request,
)
from rules.actions.rules import update_rule
from rules.actions.state_changes import StateChange, change_state, roll_back_rule
from rules.actions.suggestions import replace_suggestions
from rules.models import (
    Rule,
    RuleFeedback,
    RulePromotion,
    RuleStatistics,
    RuleSuggestion,
    RuleVersion,
)
from tests import makers
from tests.rules.builders import PATH, add_rule, move_rule, rate, reload_rule, select, set_gate

ADA, LIN = Actor("user", uuid7()), Actor("user", uuid7())
MOVES = {
    ("draft", "shadow"), ("draft", "disabled"), ("shadow", "active"), ("shadow", "draft"),
    ("shadow", "disabled"), ("active", "shadow"), ("active", "disabled"), ("disabled", "draft"),
    ("disabled", "shadow"),
}  # fmt: skip


def test_only_listed_moves_are_allowed(acme: Account) -> None:
    for state, to in product(PATH, PATH):
        target = add_rule(acme, "a rule", state)
        commits = makers.count(Commit, acme)
        if (state, to) in MOVES:
            assert move_rule(acme, target, to).state == to
        elif state == to:
            assert move_rule(acme, target, to).version == target.version
        else:
            with pytest.raises(Conflict):
                move_rule(acme, target, to)
        assert makers.count(Commit, acme) == commits + ((state, to) in MOVES), (state, to)
        with acting(acme):
            last = RuleVersion.objects.of(acme).filter(rule=target).latest("version")
        assert last.state["state"] == reload_rule(target).state, (state, to)


def decision(target: Rule, actor: Actor = ADA, **more: Any) -> StateChange:
    values: dict[str, Any] = {"reason": "because", "may_override": True, **more}
    return StateChange(account_id=target.account_id, rule_id=target.pk, actor=actor, **values)


def test_gate_needs_evidence_or_a_reason(acme: Account) -> None:
    target = add_rule(acme, "a rule", "shadow", then={"tool": {"deny": ["vim"]}})
    with acting(acme), pytest.raises(Conflict, match="Not enough evidence"):
        change_state(decision(target, may_override=False), "active")
    with acting(acme), pytest.raises(Invalid, match="reason"):
        change_state(decision(target, reason=" "), "active")
    set_gate(acme, min_seen=3, min_changed=3, max_against=0.6)
    for i in range(3):
        rate(acme, select(acme, {"intent": "fetch", "n": i}), "negative")
    with acting(acme), pytest.raises(Conflict, match="0 decisions would have changed"):
        change_state(decision(target, may_override=False), "active")
    stricter = add_rule(acme, "no bash", "shadow", then={"tool": {"deny": ["bash"]}})
    for i in range(3):
        rate(acme, select(acme, {"intent": "fetch", "n": i}), "negative")
    with acting(acme):
        assert change_state(decision(stricter, may_override=False), "active").rule.state == "active"
    with acting(acme), pytest.raises(Denied):
        change_state(decision(stricter, may_change_active=False), "disabled")


def test_active_rule_is_never_edited_in_place(acme: Account) -> None:
    live = add_rule(acme, "live", "active")
    with acting(acme):
        newer = update_rule(acme.pk, ADA, live.pk, {"then": {"tool": {"deny": ["bash"]}}})
        assert (newer.state, newer.edition, newer.lineage) == ("draft", 2, live.lineage)
        assert reload_rule(live).then == live.then
        with pytest.raises(Conflict, match="newer edition"):
            update_rule(acme.pk, ADA, live.pk, {"priority": 3})
        assert update_rule(acme.pk, ADA, newer.pk, {"priority": 3}).pk == newer.pk, "a draft is"
        renamed = update_rule(acme.pk, ADA, live.pk, {"name": "Another name"})
        assert (renamed.pk, renamed.state) == (live.pk, "active"), "a name is not obeyed"
        with pytest.raises(Conflict):
            change_state(decision(newer), "active")
    move_rule(acme, newer, "shadow")
    move_rule(acme, newer, "active")
    assert (reload_rule(live).state, reload_rule(newer).replaced) == ("disabled", live.pk)
    with acting(acme):
        roll_back_rule(decision(newer))
    assert (reload_rule(live).state, reload_rule(newer).state) == ("active", "shadow")
    with acting(acme), pytest.raises(Conflict):
        roll_back_rule(decision(newer))


def test_true_in_place_of_1_is_a_change(acme: Account) -> None:
    target = add_rule(acme, "a rule", when={"n": 1})
    with acting(acme):
        changed = update_rule(acme.pk, ADA, target.pk, {"when": {"n": True}})
    assert (reload_rule(target).when["n"] is True, changed.version) == (True, 2)


def test_former_shadow_rule_is_never_edited_in_place(acme: Account) -> None:
    target = move_rule(acme, add_rule(acme, "a rule", "shadow"), "draft")
    with acting(acme):
        assert update_rule(acme.pk, ADA, target.pk, {"priority": 1}).pk != target.pk


def test_second_person_approves(acme: Account) -> None:
    set_gate(acme, second_person=True)
    target = add_rule(acme, "a rule")
    target = move_rule(acme, target, "shadow")
    with acting(acme):
        with pytest.raises(Conflict, match="second person"):
            change_state(decision(target), "active")
        request = request_or_promote(decision(target))
        assert isinstance(request, RulePromotion)
        with pytest.raises(Denied):
            approve_request(decision(target, ADA), request.pk)
        assert find_pending_request(target) == request
        assert not is_void(request, target, [target])
        assert approve_request(decision(target, LIN), request.pk).rule.state == "active"
        with pytest.raises(Conflict, match="already decided"):
            approve_request(decision(target, LIN), request.pk)


def test_stale_approval_is_rejected(acme: Account) -> None:
    live = add_rule(acme, "live", "active")
    with acting(acme):
        newer = update_rule(acme.pk, ADA, live.pk, {"priority": 7})
    newer = move_rule(acme, newer, "shadow")
    set_gate(acme, second_person=True)
    with acting(acme):
        request = request_promotion(decision(newer))
        change_state(decision(live), "shadow")  # the active edition has changed
        assert is_void(request, newer, list(Rule.objects.of(acme.pk).filter(lineage=newer.lineage)))
        with pytest.raises(Conflict, match="no longer valid"):
            approve_request(decision(newer, LIN), request.pk)
        again = request_promotion(decision(newer))
        assert RulePromotion.objects.get(pk=request.pk).status == "withdrawn"
        change_state(decision(newer), "draft")
        change_state(decision(newer), "shadow")  # the same rule, but a new period in shadow mode
        with pytest.raises(Conflict, match="no longer valid"):
            approve_request(decision(newer, LIN), again.pk)
    assert reload_rule(newer).state == "shadow"


def run_all_concurrently(actions: list[Any]) -> list[str]:
    """Run all actions at the same time and return their outcomes."""

    def do(action: Any) -> str:
        try:
            action()
        except DomainError as refused:
            return refused.code
        finally:
            connections.close_all()
        return "done"

    with ThreadPoolExecutor(len(actions)) as pool:
        return sorted(pool.map(do, actions))


def test_one_concurrent_promotion_wins(module_commits: None, acme: Account) -> None:
    target = add_rule(acme, "a rule", "shadow")

    def promote(actor: Actor) -> None:
        with acting(acme):
            change_state(decision(target, actor, version=target.version), "active")

    outcomes = run_all_concurrently([lambda: promote(ADA), lambda: promote(LIN)])
    assert outcomes == ["done", "stale_version"]
    with acting(acme):
        promoted = RuleVersion.objects.of(acme).filter(rule=target, event="PROMOTE")
        assert promoted.count() == 1


def test_one_concurrently_promoted_edition_is_active(module_commits: None, acme: Account) -> None:
    live = add_rule(acme, "live", "active")
    with acting(acme):
        second = update_rule(acme.pk, ADA, live.pk, {"priority": 2})
    second = move_rule(acme, second, "shadow")
    with acting(acme):
        third = update_rule(acme.pk, ADA, second.pk, {"priority": 3})
    third = move_rule(acme, third, "shadow")

    def promote(target: Rule) -> None:
        with acting(acme):
            change_state(decision(target, version=target.version), "active")

    run_all_concurrently([lambda: promote(second), lambda: promote(third)])
    states = sorted(reload_rule(one).state for one in (live, second, third))
    assert states == ["active", "disabled", "disabled"]


def test_one_concurrent_approval_wins(module_commits: None, acme: Account) -> None:
    target = add_rule(acme, "a rule", "shadow")
    with acting(acme):
        request = request_promotion(decision(target))

    def approves(actor: Actor) -> None:
        with acting(acme):
            approve_request(decision(target, actor), request.pk)

    others = [Actor("user", uuid7()) for _each in range(3)]
    outcomes = run_all_concurrently([partial(approves, each) for each in others])
    assert outcomes == ["done", "stale_version", "stale_version"]
    with acting(acme):
        assert RulePromotion.objects.get(pk=request.pk).status == "approved"
        assert RuleVersion.objects.of(acme).filter(rule=target, event="PROMOTE").count() == 1


@pytest.mark.parametrize("action", [approve_request, withdraw_request])
def test_request_and_decision_are_serialized(
    module_commits: None, acme: Account, action: Any
) -> None:
    target = add_rule(acme, "a rule", "shadow")
    with acting(acme):
        request = request_promotion(decision(target))

    def renew() -> None:
        with acting(acme):
            request_promotion(decision(target))

    def decide() -> None:
        with acting(acme):
            action(decision(target, LIN), request.pk)

    late = {approve_request: "shadow_first", withdraw_request: "done"}[action]
    assert run_all_concurrently([renew, decide]) in (["done", late], ["done", "stale_version"])
    with acting(acme):
        waiting = RulePromotion.objects.of(acme).filter(status="waiting")
        assert waiting.count() == (reload_rule(target).state == "shadow")


def test_concurrent_feedback_counts_once(module_commits: None, acme: Account) -> None:
    target = add_rule(acme, "a rule", "active")
    decided = select(acme, {"intent": "fetch"})
    assert run_all_concurrently([lambda: rate(acme, decided, "positive")] * 4) == ["done"] * 4
    rate(acme, decided, "negative", actor=SYSTEM)
    with acting(acme):
        counted = RuleStatistics.objects.get(rule=target)
        assert (counted.positive, counted.negative) == (1, 1)
        assert RuleFeedback.objects.of(acme).count() == 2


def test_exceptions_are_optional(agent: Client) -> None:
    body = {"name": "No curl", "if": {"intent": "fetch"}, "then": {"tool": {"deny": ["curl"]}}}
    target = agent.post("/v1/rules", body, content_type="application/json")
    assert target.status_code == 201, target.content
    assert (target.json()["state"], target.json()["exceptions_json"]) == ("draft", [])


def test_feedback_without_a_decision_counts_for_each_user(agent: Client) -> None:
    body = {"context": {}, "candidates": ["bash"], "selected_tool": "bash", "outcome": "positive"}
    answers = [
        agent.post(
            "/v1/memory/tools/feedback", {**body, "user_id": name}, content_type="application/json"
        )
        for name in ("kim", "mira", "mira")
    ]
    assert [answer.status_code for answer in answers] == [201, 201, 200]


def test_rule_is_retired_only_if_its_audience_was_active(acme: Account) -> None:
    target = add_rule(acme, "a rule", "active", audience="user", audience_id="mira")
    makers.update(Rule, acme, {"pk": target.pk}, activated_at="2020-01-01T00:00:00Z")
    for user_id, suggested in (("kim", 0), ("mira", 1)):
        select(acme, {"intent": "build"}, user_id=user_id)
        with acting(acme):
            assert replace_suggestions(acme.pk) == suggested, user_id
    move_rule(acme, target, "disabled")
    assert not makers.rows(RuleSuggestion, acme), "a change of the state decides it"
