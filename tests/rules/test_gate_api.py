"""The gate and the evidence over HTTP."""

from typing import Any

import pytest
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.accounts.scopes import Scope
from rules.models import RuleDecision
from tests import makers
from tests.rules.making import rate, rule, select

JSON = "application/json"


def change(agent: Client, **said: Any) -> Any:
    return agent.patch("/v1/rules/gate", said, content_type=JSON)


def test_the_gate_is_read_and_set_for_a_reason(agent: Client, acme: Account) -> None:
    default = agent.get("/v1/rules/gate").json()
    assert default == {
        "min_seen": 100,
        "min_changed": 20,
        "max_against": 0.5,
        "second_person": False,
        "decision_days": None,
    }
    assert change(agent, min_seen=7).status_code == 400, "no reason"
    changed = change(agent, min_seen=7, decision_days=30, reason="A small team.").json()
    assert changed == {**default, "min_seen": 7, "decision_days": 30}
    assert change(agent, decision_days=None, reason="Keep them.").json()["decision_days"] is None


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"min_seen": -1},
        {"max_against": 1.5},
        {"max_against": "most"},
        {"decision_days": 0},
        {"min_changed": 10**9},
    ],
)
def test_what_is_no_gate_is_refused(agent: Client, acme: Account, said: dict[str, Any]) -> None:
    assert change(agent, **said, reason="Why not.").status_code == 400
    assert agent.get("/v1/rules/gate").json()["min_seen"] == 100


def test_only_a_key_that_may_pass_the_gate_may_change_it(acme: Account) -> None:
    _key, secret = makers.key(acme, scopes=[Scope.RULES_READ, Scope.RULES_WRITE])
    writer = Client(headers={"Authorization": f"Bearer {secret}"})
    assert writer.get("/v1/rules/gate").status_code == 200
    assert change(writer, min_seen=0, reason="Let me through.").status_code == 403


def test_evidence_names_turns_and_conflicts(agent: Client, acme: Account) -> None:
    live = rule(acme, "Prefer", "active", when={}, then={"tool": {"prefer": ["bash"]}})
    made = rule(acme, "Deny", "shadow", when={}, then={"tool": {"deny": ["bash"]}})
    last = [select(acme, {"n": n}) for n in range(2)][-1]
    rate(acme, last, "negative")
    found = agent.get(f"/v1/rules/{made.pk}/evidence").json()
    turn = {"selected": "bash", "would_select": "curl", "times": 2, "positive": 0, "negative": 1}
    assert found["turns"] == [turn]
    assert found["conflicts"] == [
        {
            "path": "tool.bash",
            "code": "preferred_but_denied",
            "winner_rule_node_id": str(made.pk),
            "loser_rule_node_ids": [str(live.pk)],
            "times": 2,
            "latest_decision_id": str(last.decision.pk),
        }
    ]


def test_a_selection_that_is_sent_again_is_one_decision(agent: Client, acme: Account) -> None:
    asked = {"context": {}, "candidates": ["bash", "curl"], "run_id": "r"}
    key = {"Idempotency-Key": "k"}
    first, again = (
        agent.post("/v1/memory/tools/select", asked, content_type=JSON, headers=key)
        for _ in range(2)
    )
    assert again.json() == first.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    with acting(acme):
        assert RuleDecision.objects.count() == 1
