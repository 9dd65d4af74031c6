"""Rows of every kind that hang on rules."""

from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from rules.actions.promotions import request_promotion
from rules.actions.settings import change_book
from rules.actions.states import Decision
from rules.models import Rule, RuleBacktest, RuleSuggestion
from tests.rules.making import rate, rule, select


def fill_rules(account: Account, number: int = 2, *, word: str = "") -> list[Rule]:
    """As many watching rules as that, each with all that can hang on one."""
    made = [
        rule(account, f"Rule {i} {word or account.name}", "shadow", when={"n": i, "word": word})
        for i in range(number)
    ]
    with acting(account):
        change_book(account.pk, {"decision_days": 90}, actor=SYSTEM)
    active = rule(account, f"Live {word}", "active", then={"tool": {"prefer": ["bash"]}}, when={})
    for i, one in enumerate(made):
        decided = select(account, {"n": i, "word": word}, run_id=f"run-{word}-{i}")
        rate(account, decided, "positive")
        with acting(account):
            decision = Decision(
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
    return [*made, active]
