"""Rules and decisions for tests, created as agents and people create them."""

from typing import Any
from uuid import UUID

from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM, Actor
from kmapp.accounts.models import Account
from rules.actions.decisions import RecordedSelection, record_selection
from rules.actions.feedback import ReportedOutcome, rate_decision
from rules.actions.promotion_requests import request_promotion
from rules.actions.rules import create_rule
from rules.actions.settings import change_settings
from rules.actions.state_changes import StateChange, change_state
from rules.editing.rule_input import NewRule
from rules.evaluation.matching import RuleViewer
from rules.evaluation.tool_selection import SelectionRequest
from rules.models import Rule, RuleBacktest, RuleSuggestion

TOOLS = ("bash", "curl", "grep")
HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(1)> \u202e</textarea>"
NO_CURL = {"tool": {"deny": ["curl"]}}
PATH = {
    "draft": (),
    "shadow": ("shadow",),
    "active": ("shadow", "active"),
    "disabled": ("disabled",),
}


def add_rule(account: Account, name: str, state: str = "draft", **fields: Any) -> Rule:
    """Create a rule and move it to this state."""
    values: dict[str, Any] = {"when": {"intent": "fetch"}, "then": NO_CURL, **fields}
    with acting(account):
        created = create_rule(account.pk, SYSTEM, NewRule(name=name, **values)).rules[0]
        for each in PATH[state]:
            created = move_rule(account, created, each)
    return created


def move_rule(account: Account, created: Rule, to: str, **more: Any) -> Rule:
    values: dict[str, Any] = {"actor": SYSTEM, "reason": "because", "may_override": True, **more}
    with acting(account):
        return change_state(
            StateChange(account_id=account.pk, rule_id=created.pk, **values), to
        ).rule


def reload_rule(created: Rule) -> Rule:
    with acting(created.account_id):
        return Rule.objects.get(pk=created.pk)


def select(account: Account, context: Any, *, run_id: str = "", **ids: str) -> RecordedSelection:
    question = SelectionRequest(
        context=context, viewer=RuleViewer(**ids), candidates=TOOLS, strict=False
    )
    with acting(account):
        return record_selection(account.pk, SYSTEM, question, run_id=run_id)


def rate(
    account: Account,
    decided: RecordedSelection,
    outcome: str,
    *,
    actor: Actor = SYSTEM,
    target: str = "all",
) -> Any:
    verdict = ReportedOutcome(account_id=account.pk, actor=actor, outcome=outcome, target=target)
    decision = decided.decision
    with acting(account):
        return rate_decision(
            verdict, decided.evaluation.question, decision.selected_tool, UUID(str(decision.pk))
        )


def set_gate(account: Account, **values: Any) -> None:
    with acting(account):
        change_settings(account.pk, values, actor=SYSTEM)


def add_promotable_rule(account: Account, name: str = "No curl", **fields: Any) -> Rule:
    """Create a rule in shadow mode whose evidence passes a gate of three decisions."""
    set_gate(account, min_seen=3, min_changed=3, max_against=1.0)
    created = add_rule(account, name, "shadow", **{"then": {"tool": {"deny": ["bash"]}}, **fields})
    for _each in range(3):
        rate(account, select(account, {"intent": "fetch"}), "negative")
    return created


def fill_rules(account: Account, number: int = 2, *, word: str = "") -> list[Rule]:
    """Create `number` rules in shadow mode, each with rows in every table of rules."""
    created = [
        add_rule(account, f"Rule {i} {word or account.name}", "shadow", when={"n": i, "word": word})
        for i in range(number)
    ]
    with acting(account):
        change_settings(account.pk, {"decision_days": 90}, actor=SYSTEM)
    active = add_rule(
        account, f"Live {word}", "active", then={"tool": {"prefer": ["bash"]}}, when={}
    )
    for i, one in enumerate(created):
        decided = select(account, {"n": i, "word": word}, run_id=f"run-{word}-{i}")
        rate(account, decided, "positive")
        with acting(account):
            decision = StateChange(
                account_id=account.pk,
                rule_id=one.pk,
                actor=SYSTEM,
                reason="because",
                may_override=True,
            )
            request_promotion(decision)
            now = timezone.now()
            common = {"account": account, "rule": one, "created_at": now}
            RuleBacktest.objects.create(version=1, wanted=10, asked_by="system", **common)
            RuleSuggestion.objects.create(kind="promote", evidence={}, **common)
    return [*created, active]
