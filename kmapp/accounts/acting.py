"""The only way in: a transaction that acts for one account.

Row-level security compares every row's account with `app.account_id`, which lives as long as the
transaction. Nested calls put the outer account back; a failed one is put back by its savepoint.
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
    """The account this code acts for, or None."""
    return _acting.get()


@contextmanager
def acting(account: "Account | UUID") -> Iterator[UUID]:
    """Open a transaction in which only this account's rows exist."""
    account_id = account if isinstance(account, UUID) else account.pk
    outer = _acting.get() if connection.in_atomic_block else None
    nested = connection.in_atomic_block
    token = _acting.set(account_id)
    try:
        with transaction.atomic():
            _announce(account_id)
            yield account_id
            if nested:
                _announce(outer)
    finally:
        _acting.reset(token)


def _announce(account_id: UUID | None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('app.account_id', %s, true)", [str(account_id) if account_id else ""]
        )
