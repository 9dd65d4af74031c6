"""Account options of management commands."""

from django.core.management.base import CommandError

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, account_ids


def list_all_accounts() -> list[Account]:
    accounts = []
    for account_id in account_ids():
        with acting(account_id):
            accounts.append(Account.objects.get(pk=account_id))
    return accounts


def get_account(slug: str | None) -> Account:
    """Return the account with this short name, or the only account."""
    all_accounts = list_all_accounts()
    names = ", ".join(sorted(account.slug for account in all_accounts)) or "none yet"
    matches = [account for account in all_accounts if slug in (None, account.slug)]
    if len(matches) == 1:
        return matches[0]
    if slug is None:
        raise CommandError(f"Choose an account with --account SLUG. Accounts: {names}.")
    raise CommandError(f"Account {slug!r} does not exist. Accounts: {names}.")


def list_accounts(slug: str | None) -> list[Account]:
    return list_all_accounts() if slug is None else [get_account(slug)]
