"""Accounts as the owner of the installation manages them: rename, archive, restore, join.

Every action is a commit in the ledger of its account. An archived account is read-only for people
and agents. Background jobs go on, so that retention is still applied.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import add_member
from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account, Membership, User
from kmapp.database.advisory_locks import lock_until_commit
from kmapp.database.raw_sql import fetch_as
from kmapp.errors import Conflict
from kmapp.ledger.actions import recording


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountSummary:
    account_id: UUID
    name: str
    slug: str
    created_at: datetime
    archived_at: datetime | None
    members: int
    active_keys: int


def list_accounts() -> list[AccountSummary]:
    """Return all accounts of the installation, the archived ones last."""
    return fetch_as(AccountSummary, "list_accounts()")


def rename_account(account_id: UUID, *, name: str, actor: Actor) -> None:
    with acting(account_id):
        account = _lock_account(account_id)
        if account.name != name:
            change = {"name": {"before": account.name, "after": name}}
            account.name = name
            _save_column(account, "name", actor, change)


def archive_account(account_id: UUID, *, actor: Actor) -> None:
    """Make an account read-only. One account stays in use."""
    with acting(account_id):
        lock_until_commit("archive_account")  # two requests could archive the last two accounts
        others = [each for each in list_accounts() if each.account_id != account_id]
        if all(each.archived_at for each in others):
            raise Conflict(_("This is the only active account. Create another account first."))
        account = _lock_account(account_id)
        if account.archived_at:
            raise Conflict(_("This account is already archived."))
        account.archived_at = timezone.now()
        _save_column(account, "archived_at", actor, {"archived": {"before": False, "after": True}})


def restore_account(account_id: UUID, *, actor: Actor) -> None:
    with acting(account_id):
        account = _lock_account(account_id)
        if not account.archived_at:
            raise Conflict(_("This account is not archived."))
        account.archived_at = None
        _save_column(account, "archived_at", actor, {"archived": {"before": True, "after": False}})


def join_account(account_id: UUID, *, user: User, actor: Actor) -> None:
    """Add the owner of the installation as an admin, for example if an account has none."""
    with acting(account_id):
        add_member(account_id=account_id, user=user, role=Membership.Role.ADMIN, actor=actor)


def _lock_account(account_id: UUID) -> Account:
    return Account.objects.select_for_update().get(pk=account_id)


def _save_column(account: Account, column: str, actor: Actor, change: Mapping[str, object]) -> None:
    with recording(account.pk, actor, input={"account": change}) as commit:
        commit.update(account, column)
