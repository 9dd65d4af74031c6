"""The job that suggests changes of rules in all accounts."""

from uuid import UUID

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, account_ids
from rules.actions import suggestions
from rules.jobs.tasks import suggest
from rules.models import Rule, RuleBook, RuleSuggestion
from tests import makers
from tests.rules.builders import add_promotable_rule, add_rule, move_rule


def test_accounts_with_few_rules_are_first(
    acme: Account, rival: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = {account.pk: account for account in (acme, rival)}
    large, small = (accounts[account_id] for account_id in account_ids())
    for state in ("active", "shadow"):
        add_rule(large, "Counted", state)
    add_rule(small, "Counted", "shadow")
    for state in ("draft", "draft", "disabled"):
        add_rule(small, "Not counted", state)
    served: list[UUID] = []

    def serve(account_id: UUID) -> int:
        served.append(account_id)
        return 1

    monkeypatch.setattr("rules.actions.suggestions.replace_suggestions", serve)
    assert suggest() == len(accounts)
    assert served == [small.pk, large.pk]


def test_rule_that_moves_during_the_job_gets_no_suggestion(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = add_promotable_rule(acme)
    build = suggestions._build_suggestion  # noqa: SLF001

    def build_and_promote(rule: Rule, book: RuleBook) -> RuleSuggestion | None:
        built = build(rule, book)
        move_rule(acme, created, "active")
        return built

    with acting(acme):
        assert suggestions.replace_suggestions(acme.pk) == 1
        monkeypatch.setattr(suggestions, "_build_suggestion", build_and_promote)
        assert suggestions.replace_suggestions(acme.pk) == 0
    assert makers.rows(RuleSuggestion, acme) == []
