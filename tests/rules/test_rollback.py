"""Rollback of a promotion, after the replaced edition was moved."""

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from rules.actions.rules import update_rule
from rules.actions.state_changes import StateChange, roll_back_rule
from rules.models import RuleVersion
from tests import makers
from tests.rules.builders import add_rule, move_rule, reload_rule


@pytest.mark.parametrize("state", ["shadow", "draft"])
def test_rollback_restores_an_edition_that_was_moved(acme: Account, state: str) -> None:
    former = add_rule(acme, "A rule", "active")
    with acting(acme):
        newer = update_rule(acme.pk, SYSTEM, former.pk, {"priority": 3})
    for each in ("shadow", "active"):
        newer = move_rule(acme, newer, each)
    # A key that may not change active rules may move the former edition, which is inactive.
    assert move_rule(acme, former, state, may_change_active=False).state == state
    change = StateChange(account_id=acme.pk, rule_id=newer.pk, actor=SYSTEM, reason="A mistake.")
    with acting(acme):
        assert roll_back_rule(change).replaced == former
    assert (reload_rule(former).state, reload_rule(newer).state) == ("active", "shadow")
    [restored] = makers.rows(RuleVersion, acme, rule=former, event="RESTORE")
    assert restored.state["state"] == "active"
