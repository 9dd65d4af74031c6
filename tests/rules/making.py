"""Rules and decisions for tests, made as agents and people make them."""

from typing import Any
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM, Actor
from kmapp.accounts.models import Account
from rules.actions.decisions import Decided, decide
from rules.actions.feedback import Verdict, rate_decision
from rules.actions.rules import create
from rules.actions.settings import change_book
from rules.actions.states import Decision, move
from rules.editing.rule_input import NewRule
from rules.evaluation.evaluate import Question
from rules.evaluation.matching import Viewer
from rules.models import Rule

TOOLS = ("bash", "curl", "grep")
HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(1)> \u202e</textarea>"
NO_CURL = {"tool": {"deny": ["curl"]}}
PATH = {
    "draft": (),
    "shadow": ("shadow",),
    "active": ("shadow", "active"),
    "disabled": ("disabled",),
}


def rule(account: Account, name: str, state: str = "draft", **said: Any) -> Rule:
    """A rule that went its way to this state."""
    values: dict[str, Any] = {"when": {"intent": "fetch"}, "then": NO_CURL, **said}
    with acting(account):
        made = create(account.pk, SYSTEM, NewRule(name=name, **values)).rules[0]
        for each in PATH[state]:
            made = go(account, made, each)
    return made


def go(account: Account, made: Rule, to: str, **more: Any) -> Rule:
    values: dict[str, Any] = {"actor": SYSTEM, "reason": "because", "may_override": True, **more}
    with acting(account):
        return move(Decision(account_id=account.pk, rule_id=made.pk, **values), to).rule


def now(made: Rule) -> Rule:
    with acting(made.account_id):
        return Rule.objects.get(pk=made.pk)


def select(account: Account, context: Any, *, run_id: str = "", **ids: str) -> Decided:
    question = Question(context=context, viewer=Viewer(**ids), candidates=TOOLS, strict=False)
    with acting(account):
        return decide(account.pk, SYSTEM, question, run_id=run_id)


def rate(
    account: Account, decided: Decided, outcome: str, *, actor: Actor = SYSTEM, target: str = "all"
) -> Any:
    verdict = Verdict(account_id=account.pk, actor=actor, outcome=outcome, target=target)
    decision = decided.decision
    with acting(account):
        return rate_decision(
            verdict, decided.answer.question, decision.selected_tool, UUID(str(decision.pk))
        )


def gate(account: Account, **values: Any) -> None:
    with acting(account):
        change_book(account.pk, values, actor=SYSTEM)


def watched(account: Account, name: str = "No curl", **said: Any) -> Rule:
    """A rule whose evidence passes a gate of three decisions."""
    gate(account, min_seen=3, min_changed=3, max_against=1.0)
    made = rule(account, name, "shadow", **{"then": {"tool": {"deny": ["bash"]}}, **said})
    for _each in range(3):
        rate(account, select(account, {"intent": "fetch"}), "negative")
    return made


def page(answer: Any, status: int = 200) -> str:
    assert answer.status_code == status, answer.content.decode()[:2000]
    return str(answer.content.decode())
