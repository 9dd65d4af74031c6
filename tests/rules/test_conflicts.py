"""Conflicts of a rule in shadow with the active rules."""

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from rules.actions import conflicts
from rules.actions.conflicts import list_live_conflicts
from tests.rules.builders import add_rule, select


def test_time_to_detect_conflicts_is_limited(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_rule(acme, "Prefer", "active", when={}, then={"tool": {"prefer": ["bash"]}})
    created = add_rule(acme, "Deny", "shadow", when={}, then={"tool": {"deny": ["bash"]}})
    last = [select(acme, {"n": number}) for number in range(3)][-1]
    for seconds, number in ((60.0, 3), (-1.0, 1)):
        monkeypatch.setattr(conflicts, "MAX_SECONDS", seconds)
        with acting(acme):
            [conflict], inspected = list_live_conflicts(created)
        assert (conflict.times, inspected) == (number, number)
        assert conflict.decision == last.decision.pk
