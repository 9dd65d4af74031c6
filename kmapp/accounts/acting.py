"""Transactions that act for one account: the only way to read and write account-owned rows.

Row-level security compares every row's account with `app.account_id`, a setting local to the
transaction. A nested call restores the outer account; a failed one is rolled back to its savepoint.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import connection, transaction

if TYPE_CHECKING:
    from kmapp.accounts.models import Account

_acting: ContextVar[UUID | None] = ContextVar("acting", default=None)


def current_account_id() -> UUID | None:
    """Return the id of the account that the code acts for, or None."""
    return _acting.get()


@contextmanager
def acting(account: "Account | UUID") -> Iterator[UUID]:
    """Open a transaction in which only this account's rows are visible."""
    account_id = account if isinstance(account, UUID) else account.pk
    outer = _acting.get() if connection.in_atomic_block else None
    if outer == account_id:  # the database knows it already
        with transaction.atomic():
            yield account_id
        return
    nested = connection.in_atomic_block
    token = _acting.set(account_id)
    try:
        with transaction.atomic():
            _set_database_account(account_id)
            yield account_id
            if nested:
                _set_database_account(outer)
    finally:
        _acting.reset(token)


def _set_database_account(account_id: UUID | None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('app.account_id', %s, true)", [str(account_id) if account_id else ""]
        )
