"""Feedback as evidence for and against rules in shadow."""

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from rules.actions.feedback import ReportedOutcome, rate_rule
from rules.models import RuleStatistics
from tests import makers
from tests.rules.builders import add_rule, move_rule, rate, select
from tests.rules.test_evidence import evidence


def test_evidence_of_a_demoted_rule_starts_from_zero(acme: Account) -> None:
    created = add_rule(acme, "No bash", "active", then={"tool": {"deny": ["bash"]}})
    for n in range(3):
        rate(acme, select(acme, {"intent": "fetch", "n": n}), "positive")
    assert (evidence(created).said_good, evidence(created).said_bad) == (3, 0)
    move_rule(acme, created, "shadow")
    demoted = evidence(created)
    assert (demoted.said_good, demoted.said_bad, demoted.against.high) == (0, 0, 1.0)
    verdict = ReportedOutcome(account_id=acme.pk, actor=SYSTEM, outcome="very_negative")
    with acting(acme):
        rate_rule(verdict, created.pk)
    assert (evidence(created).said_good, evidence(created).said_bad) == (0, 1)


def test_success_with_the_tool_of_a_shadow_rule_does_not_oppose_the_rule(acme: Account) -> None:
    created = add_rule(acme, "Curl", "shadow", then={"tool": {"prefer": ["curl"]}})
    agent = makers.agent(acme)
    context = {"intent": "fetch"}
    for tool in ("curl", "grep"):  # used without requesting a selection, which would be "bash"
        body = {"context": context, "candidates": ["bash", "curl", "grep"], "selected_tool": tool}
        agent.post("memory/tools/feedback", {**body, "outcome": "positive"}, 201)
    counts = evidence(created)
    assert (counts.matched, counts.changed) == (2, 1)
    assert (counts.changed_good, counts.same_good) == (1, 1)


def test_statistics_have_the_time_of_the_last_feedback(acme: Account) -> None:
    created = add_rule(acme, "Rated")
    times = []
    for outcome in ("positive", "negative"):
        verdict = ReportedOutcome(account_id=acme.pk, actor=SYSTEM, outcome=outcome)
        with acting(acme):
            rate_rule(verdict, created.pk)
        times.append(makers.get(RuleStatistics, acme, rule=created).updated_at)
    assert times[0] < times[1]
