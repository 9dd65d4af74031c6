"""The demo shows each kind of rule once, and a rule whose evidence speaks for itself."""

import io

from django.core.management import call_command

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from kmapp.ledger.models import Commit
from rules.models import Rule, RuleDecision
from rules.promotion.evidence import book_of, evidence_of, gate_of


def demo() -> str:
    out = io.StringIO()
    call_command("demo", stdout=out)
    return out.getvalue()


def test_rules_of_every_state_with_evidence_and_again_nothing_new(acme: Account, ada: User) -> None:
    told = demo()
    assert "8 rules added to Acme, with 120 decisions." in told
    with acting(acme):
        rules = Rule.objects.of(acme)
        assert set(rules.values_list("state", flat=True)) == {*Rule.State.values}
        assert all(rule.summary.isascii() or not rule.name.isascii() for rule in rules)
        angry = rules.get(client_id="demo-angry")
        assert gate_of(evidence_of(angry), book_of(acme.pk)).open
        limit = rules.get(client_id="demo-refund-limit")
        editions = rules.filter(lineage=limit.lineage).values_list("state", flat=True)
        assert sorted(editions) == ["active", "draft"]
        decisions = RuleDecision.objects.of(acme)
        assert decisions.exclude(conflicts=[]).exists()
        assert decisions.filter(differs=True).exists()
        before = Commit.objects.count()
    assert "0 rules added to Acme, with 0 decisions." in demo()
    with acting(acme):
        assert Commit.objects.count() == before
