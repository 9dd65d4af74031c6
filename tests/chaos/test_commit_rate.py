"""Processes that write to one account at once reach the required rate, without forks and gaps."""

import multiprocessing
from functools import partial
from uuid import UUID

import pytest
from django.db import connection, connections

from kmapp.accounts.acting import acting
from kmapp.ledger.models import Commit
from tests import makers
from tests.chaos.measure import WHOLE
from tests.kernel.test_forks import COMMITS, ROWS, WRITERS, assert_linear_chain, commit
from tests.promises.plugin import RecordFigure
from tests.race import retry_while_locked

pytestmark = [pytest.mark.chaos, pytest.mark.alone, pytest.mark.promise(29)]

PER_SECOND = 150


def commit_often(task: tuple[UUID, int, int]) -> None:
    account_id, times, rows = task
    for _ in range(times):
        retry_while_locked(partial(commit, account_id, rows))
    connection.close()


def test_concurrent_processes_reach_the_commit_rate(
    committed: str, record_figure: RecordFigure
) -> None:
    account = makers.account("Acme")
    tasks = [(account.pk, 1, ROWS), *[(account.pk, COMMITS, 1)] * WRITERS]
    connections.close_all()  # child processes must not inherit them
    with multiprocessing.get_context("fork").Pool(len(tasks)) as pool:
        pool.map(commit_often, tasks, chunksize=1)
    assert_linear_chain(account, 1 + WRITERS * COMMITS + 1)
    with acting(account):
        times = Commit.objects.of(account).filter(seq__gt=1).order_by("seq")
        first, last = (each.created_at for each in (times[0], times.reverse()[0]))
    rate = WRITERS * COMMITS / (last - first).total_seconds()
    record_figure(f"{rate:.0f} commits a second")
    assert rate >= (PER_SECOND if WHOLE else 0)
