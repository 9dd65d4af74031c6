"""A large database is backed up during writes and restored."""

import io
import re
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from pytest_django import DjangoDbBlocker

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from memory.actions.write_entries import write_batch
from memory.models.entry_input import Batch, NewEntry
from tests import makers
from tests.chaos.conftest import ChaosServer, connected_to
from tests.chaos.measure import long
from tests.promises.plugin import RecordFigure

SECONDS = 120  # limit of a restore of 100,000 memories with the index of their vectors
NUMBERS = [
    pytest.param(10_000, marks=[pytest.mark.chaos, pytest.mark.promise(30), long]),
    pytest.param(100_000, marks=[pytest.mark.long, pytest.mark.alone, pytest.mark.timeout(1800)]),
]


@pytest.fixture
def number(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def filled(
    number: int, chaos_server: ChaosServer, django_db_blocker: DjangoDbBlocker
) -> Iterator[Account]:
    """Create many memories, and one account for writes during the backup."""
    name = f"backed_up_{number}"
    chaos_server.product(name)
    with django_db_blocker.unblock(), connected_to(chaos_server.postgres, name):
        account = makers.account("Busy")
        call_command("perf", "seed", str(number), yes=True, stderr=io.StringIO())
        call_command("checkpoint", stdout=io.StringIO())
        yield account


def write_until(account: Account, stop: Event) -> None:
    while not stop.is_set():
        with acting(account):
            batch = Batch(entries=[NewEntry(text="The kettle is on again.", user_id="u")])
            write_batch(account_id=account.pk, actor=SYSTEM, batch=batch)
    connections.close_all()


@pytest.mark.parametrize("number", NUMBERS, indirect=True)
def test_restore_is_fast_and_returns_the_same_results(
    number: int,
    filled: Account,
    chaos_server: ChaosServer,
    tmp_path: Path,
    record_figure: RecordFigure,
) -> None:
    """Back up during writes, then rehearse a restore with fsck and 100 sample queries."""
    stop, file, out = Event(), tmp_path / "kmapp.zip", io.StringIO()
    writer = Thread(target=write_until, args=(filled, stop))
    writer.start()
    began = time.monotonic()
    try:
        call_command("backup", str(file), stdout=io.StringIO())
    finally:
        stop.set()
        writer.join()
    dumped = time.monotonic() - began
    try:
        call_command("rehearse_restore", str(file), url=chaos_server.postgres.url(), stdout=out)
    except CommandError as differs:
        raise AssertionError(out.getvalue()) from differs
    report = out.getvalue()
    restored = re.search(r"restored +ok +in ([\d.]+) s", report)
    assert restored
    record_figure(f"{number:,} memories dumped in {dumped:.0f} s, restored in {restored[1]} s")
    assert "NOT OK" not in report
    assert "1 ancestors of the live head" in report
    equal = re.search(r"(\d+) of (\d+) equal", report)
    assert equal
    assert equal[1] == equal[2]
    assert int(equal[1]) >= 99  # the busy account has no vectors, because no worker runs
    assert float(restored[1]) <= SECONDS
