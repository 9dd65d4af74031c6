"""Concurrent writers extend one chain, without forks and gaps."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from uuid import UUID

import pytest
from django.db import connection
from django.db.models import Count

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, ApiKey
from kmapp.database.ids import uuid7
from kmapp.ledger.actions import recording
from kmapp.ledger.models import Commit
from kmapp.ledger.verify import verify_account
from tests.race import retry_while_locked

WRITERS, COMMITS = 8, 50
BATCHES, ROWS = 5, 1_000


def commit(account_id: UUID, rows: int = 1) -> None:
    """Commit a change of that many rows; only the ledger's rows are written."""
    with acting(account_id), recording(account_id, SYSTEM) as draft:
        for _ in range(rows):
            draft.add(ApiKey(id=uuid7(), account_id=account_id, name="forked", scopes=[]), "ADD")


def run_writers(account: Account, tasks: list[tuple[int, int]]) -> None:
    """Commit from one thread for each task: the number of its commits, and the rows of each."""
    start = threading.Barrier(len(tasks))

    def write(times: int, rows: int) -> None:
        try:
            connection.ensure_connection()
            start.wait()
            for _ in range(times):
                retry_while_locked(partial(commit, account.pk, rows))
        finally:
            connection.close()

    with ThreadPoolExecutor(len(tasks)) as pool:
        for future in [pool.submit(write, *task) for task in tasks]:
            future.result()


def assert_linear_chain(account: Account, commits: int) -> None:
    with acting(account):
        rows = Commit.objects.of(account)
        parents = rows.values("parent_hash").annotate(children=Count("pk"))
        assert list(parents.filter(children__gt=1)) == []
        seqs = list(rows.order_by("seq").values_list("seq", flat=True))
    assert seqs == list(range(1, commits + 1))
    checked = verify_account(account.pk)
    assert checked.ok, checked.problems
    assert checked.commits == commits


@pytest.mark.promise(29)
def test_concurrent_writers_make_a_linear_chain(committed: str, acme: Account) -> None:
    run_writers(acme, [(COMMITS, 1)] * WRITERS + [(BATCHES, ROWS)])
    assert_linear_chain(acme, 1 + WRITERS * COMMITS + BATCHES)
