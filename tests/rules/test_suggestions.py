"""The job that suggests changes of rules in all accounts."""

from uuid import UUID

import pytest

from kmapp.accounts.models import Account, account_ids
from rules.jobs.tasks import suggest
from tests.rules.builders import add_rule


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
