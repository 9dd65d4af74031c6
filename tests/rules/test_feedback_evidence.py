"""Feedback as evidence for and against rules in shadow."""

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from rules.actions.feedback import ReportedOutcome, rate_rule
from rules.models import Rule
from rules.promotion.evidence import PromotionEvidence, load_evidence
from tests.rules.builders import add_rule, move_rule, rate, reload_rule, select


def load(created: Rule) -> PromotionEvidence:
    with acting(created.account_id):
        return load_evidence(reload_rule(created))


def test_evidence_of_a_demoted_rule_starts_from_zero(acme: Account) -> None:
    created = add_rule(acme, "No bash", "active", then={"tool": {"deny": ["bash"]}})
    for n in range(3):
        rate(acme, select(acme, {"intent": "fetch", "n": n}), "positive")
    assert (load(created).said_good, load(created).said_bad) == (3, 0)
    move_rule(acme, created, "shadow")
    demoted = load(created)
    assert (demoted.said_good, demoted.said_bad, demoted.against.high) == (0, 0, 1.0)
    verdict = ReportedOutcome(account_id=acme.pk, actor=SYSTEM, outcome="very_negative")
    with acting(acme):
        rate_rule(verdict, created.pk)
    assert (load(created).said_good, load(created).said_bad) == (0, 1)
