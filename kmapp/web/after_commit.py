"""Work of a page that follows the commit of its transaction."""

from collections.abc import Callable
from dataclasses import dataclass

from django.http import HttpResponse
from django.http.response import HttpResponseBase


@dataclass(frozen=True, slots=True)
class AfterCommit:
    """A page's next step, which runs in a separate transaction.

    A transaction that writes holds the lock of the account's commit chain until it commits, and
    other writers wait for it. `outside_transaction`: long work that opens transactions as needed.
    """

    then: Callable[[], "HttpResponseBase | AfterCommit"]
    outside_transaction: bool = False


class AfterCommitResponse(HttpResponse):
    """Carries an `AfterCommit` through code that handles only responses: the Django admin."""

    def __init__(self, after_commit: AfterCommit) -> None:
        super().__init__()
        self.after_commit = after_commit
