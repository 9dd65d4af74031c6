"""Rules that someone changed in the database cannot be read or changed with `verify_on_read`."""

from typing import Any

import pytest

from kmapp.accounts.models import Account
from rules.models import Rule
from tests import makers
from tests.agent import Agent
from tests.kernel.fsck.tampering import Intruder
from tests.rules.builders import NO_CURL, move_rule, reload_rule
from tests.sealed_reads import edited

pytestmark = pytest.mark.usefixtures("module_commits")

TABLE = "rules_rule"
BODY: dict[str, Any] = {
    "name": "No curl", "client_id": "no-curl", "if": {"intent": "fetch"}, "then": NO_CURL
}  # fmt: skip
EDIT = '"then" = \'{"tool": {"deny": ["bash"]}}\''


@pytest.fixture
def agent(acme: Account) -> Agent:
    makers.set_policy(acme, {"verify_on_read": True})
    return makers.agent(acme, ["rules:read", "rules:write", "rules:override"])


@pytest.fixture
def rule(acme: Account, agent: Agent) -> Rule:
    """Return an active rule."""
    created = makers.get(Rule, acme, pk=agent.post("rules", BODY, 201)["id"])
    return move_rule(acme, move_rule(acme, created, "shadow"), "active")


def test_changed_rule_is_neither_returned_nor_sealed_again(
    agent: Agent, rule: Rule, intruder: Intruder
) -> None:
    path, state = f"rules/{rule.pk}", {"rule_node_id": str(rule.pk), "input_text": "because"}

    def request_everything(status: int) -> list[Any]:
        return [
            agent.patch(path, {"priority": 0}, status),  # its priority already
            agent.post("rules", BODY, status),  # exists already
            agent.post("memory/rules/state", {**state, "state": "active"}, status),
            agent.patch(path, {"priority": 3}, status),
            agent.post("memory/rules/state", {**state, "state": "shadow"}, status),
            agent.post(f"{path}/rollback", {}, status),
            agent.delete(path, status),
        ]

    with edited(intruder, TABLE, rule.pk, EDIT):
        for answer in request_everything(409):
            assert (answer["error"], answer["withheld"]) == ("withheld", 1)
        for part in ("", "/evidence"):
            assert agent.get(f"{path}{part}", 404)["error"] == "withheld"
    assert reload_rule(rule).version == rule.version
    assert agent.patch(path, {"priority": 0}, 200)["priority"] == 0


def test_promotion_and_rollback_seal_no_other_edition_that_differs(
    acme: Account, agent: Agent, rule: Rule, intruder: Intruder
) -> None:
    newer = agent.patch(f"rules/{rule.pk}", {"priority": 3}, 201)["id"]
    edition = move_rule(acme, makers.get(Rule, acme, pk=newer), "shadow")
    promote = {"rule_node_id": newer, "state": "active", "input_text": "because"}
    with edited(intruder, TABLE, rule.pk, EDIT):
        assert agent.post("memory/rules/state", promote, 409)["error"] == "withheld"
    assert agent.post("memory/rules/state", promote, 200)["state"] == "active"
    with edited(intruder, TABLE, rule.pk, EDIT):
        assert agent.post(f"rules/{newer}/rollback", {}, 409)["error"] == "withheld"
    assert (reload_rule(edition).state, reload_rule(rule).state) == ("active", "disabled")
    assert agent.post(f"rules/{newer}/rollback", {}, 200)["state"] == "shadow"
    assert reload_rule(rule).state == "active"
