"""Running a function for every account, so that one failure does not stop the others.

While the database is unreachable, the run waits, and then continues with the same account.
"""

from collections.abc import Callable, Iterable
from time import sleep
from typing import TypeVar
from uuid import UUID

import structlog
from celery.exceptions import SoftTimeLimitExceeded
from django.db import InterfaceError, OperationalError, connection
from prometheus_client import Counter

from kmapp.accounts.models import account_ids
from kmapp.errors import ReadOnly

FAILED_ACCOUNTS = Counter("kmapp_accounts_unserved", "Accounts for which a sweep failed.")

# SQLSTATE of a server that stops, starts, or has no connection left; 08… are lost connections.
OUTAGE_CODES = frozenset({"57P01", "57P02", "57P03", "53300"})
RETRY_SECONDS = 2.0  # seconds between attempts to reach the database
MAX_OUTAGES = 5  # of one account: what breaks each connection must not block the other accounts

T = TypeVar("T")
log = structlog.get_logger()


class AccountsFailed(Exception):
    """At least one account failed; the log has the account and the traceback of each."""


def run_for_each_account(
    run: Callable[[UUID], T], accounts: Iterable[UUID] | None = None
) -> list[T]:
    """Return the results of `run` for each account; raise at the end if any of them failed.

    `accounts` defaults to all accounts.
    """
    accounts = account_ids() if accounts is None else list(accounts)
    results, failures = list[T](), list[Exception]()
    for account_id in accounts:
        try:
            results.append(_run_through_outage(run, account_id))
        except ReadOnly:  # until a person decides; it is reported elsewhere
            log.warning("account_read_only", account=str(account_id))
        except SoftTimeLimitExceeded:  # the time of the task is over, whichever account is next
            raise
        except Exception as error:
            log.exception("account_not_served", account=str(account_id))
            FAILED_ACCOUNTS.inc()
            failures.append(error)
    if failures:
        message = f"{len(failures)} of {len(accounts)} accounts failed. See the log for each."
        raise AccountsFailed(message) from failures[0]
    return results


def _run_through_outage(run: Callable[[UUID], T], account_id: UUID) -> T:
    """Call `run`. If the connection is lost, wait for the database, then call `run` again.

    The time limit of the task ends the waiting.
    """
    for _ in range(MAX_OUTAGES):
        try:
            return run(account_id)
        except (OperationalError, InterfaceError) as error:
            if connection.in_atomic_block or not _is_outage(error):
                raise
            log.warning("sweep_paused", account=str(account_id), error=type(error).__name__)
        while not _is_reachable():
            sleep(RETRY_SECONDS)
        log.info("sweep_resumed", account=str(account_id))
    return run(account_id)


def _is_outage(error: Exception) -> bool:
    """Return whether an error means that the server is gone, not that it refused a statement."""
    code: str | None = getattr(error.__cause__, "sqlstate", None)
    return code is None or code in OUTAGE_CODES or code.startswith("08")


def _is_reachable() -> bool:
    connection.close()
    try:
        connection.ensure_connection()
    except (OperationalError, InterfaceError):
        return False
    return connection.is_usable()
