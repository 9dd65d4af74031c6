"""Running a function for every account, so that one failure does not stop the others."""

from collections.abc import Callable, Iterable
from typing import TypeVar
from uuid import UUID

import structlog
from celery.exceptions import SoftTimeLimitExceeded
from prometheus_client import Counter

from kmapp.accounts.models import account_ids
from kmapp.errors import ReadOnly

FAILED_ACCOUNTS = Counter("kmapp_accounts_unserved", "Accounts for which a sweep failed.")

T = TypeVar("T")
log = structlog.get_logger()


class SweepFailed(Exception):
    """At least one account failed; the log has the account and the traceback of each."""


def sweep(run: Callable[[UUID], T], accounts: Iterable[UUID] | None = None) -> list[T]:
    """Return the results of `run` for each account; raise at the end if any of them failed.

    `accounts` are by default all of them.
    """
    accounts = account_ids() if accounts is None else list(accounts)
    results, failures = list[T](), list[Exception]()
    for account_id in accounts:
        try:
            results.append(run(account_id))
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
        raise SweepFailed(message) from failures[0]
    return results
