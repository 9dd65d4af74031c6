"""The job that suggests changes of rules in all accounts."""

from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, account_ids
from rules.actions import suggestions
from rules.actions.feedback import ReportedOutcome, rate_rule
from rules.jobs.tasks import suggest
from rules.models import Rule, RuleBook, RuleSuggestion
from rules.promotion.evidence import FeedbackCounts, count_feedback_in_shadow
from tests import makers
from tests.rules.builders import add_promotable_rule, add_rule, move_rule, reload_rule


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

    def build_and_promote(
        rule: Rule, book: RuleBook, feedback: FeedbackCounts
    ) -> RuleSuggestion | None:
        built = build(rule, book, feedback)
        move_rule(acme, created, "active")
        return built

    with acting(acme):
        assert suggestions.replace_suggestions(acme.pk) == 1
        monkeypatch.setattr(suggestions, "_build_suggestion", build_and_promote)
        assert suggestions.replace_suggestions(acme.pk) == 0
    assert makers.rows(RuleSuggestion, acme) == []


def test_feedback_since_shadow_is_counted_in_one_query(acme: Account) -> None:
    demoted, rated, unrated = (
        add_rule(acme, "Rule", state) for state in ("active", "shadow", "shadow")
    )

    def rate(rule: Rule, *outcomes: str) -> None:
        for outcome in outcomes:
            verdict = ReportedOutcome(account_id=acme.pk, actor=SYSTEM, outcome=outcome)
            with acting(acme):
                rate_rule(verdict, rule.pk)

    rate(demoted, "positive", "negative")
    move_rule(acme, demoted, "shadow")
    rate(demoted, "very_negative", "neutral")
    rate(rated, "positive", "positive", "negative")
    rules = [reload_rule(each) for each in (demoted, rated, unrated)]
    with acting(acme):
        assert count_feedback_in_shadow(rules) == {demoted.pk: (0, 1), rated.pk: (2, 1)}
        with CaptureQueriesContext(connection) as captured:
            suggestions.replace_suggestions(acme.pk)
    assert len([each for each in captured if "rules_rulefeedback f" in each["sql"]]) == 1
