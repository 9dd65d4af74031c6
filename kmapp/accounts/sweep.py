"""Serving every account in turn: what fails for one is not the loss of those after it."""

from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

import structlog
from celery.exceptions import SoftTimeLimitExceeded
from prometheus_client import Counter

from kmapp.accounts.models import account_ids

UNSERVED = Counter("kmapp_accounts_unserved", "Accounts that failed when all had their turn.")

T = TypeVar("T")
log = structlog.get_logger()


class Unserved(Exception):
    """Not every account was served; the log names each, and the place where it failed."""


def sweep(serve: Callable[[UUID], T]) -> list[T]:
    """What `serve` makes of each account. Who fails is logged; it is an error when all are done."""
    accounts, served, failures = account_ids(), list[T](), list[Exception]()
    for account_id in accounts:
        try:
            served.append(serve(account_id))
        except SoftTimeLimitExceeded:  # the task's time is up, whose turn it ever was
            raise
        except Exception as error:
            log.exception("account_not_served", account=str(account_id))
            UNSERVED.inc()
            failures.append(error)
    if failures:
        said = f"{len(failures)} of {len(accounts)} accounts were not served: the log has each."
        raise Unserved(said) from failures[0]
    return served
