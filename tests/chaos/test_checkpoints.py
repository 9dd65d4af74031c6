"""The age of the newest checkpoint, measured from outside of a running product."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.ledger.checkpoint_file import CheckpointFile
from kmapp.ledger.models import Commit
from tests.chaos.conftest import SeparateProduct
from tests.chaos.measure import amount, limit, seconds_until
from tests.chaos.product import Product
from tests.promises.plugin import RecordFigure

pytestmark = [pytest.mark.chaos, pytest.mark.alone, pytest.mark.promise(42)]

SECONDS = amount(15, 4)  # of writes before each kill
KILLS = amount(3, 1)
REQUIRED = 2.0  # seconds until a commit is signed
RESTART = 10.0  # seconds until a scheduler that starts has signed what was committed before
START = 30.0  # seconds for a scheduler to start and to sign, before it is measured


class Ages:
    """The seconds that commits of an account waited for a checkpoint in the checkpoint file.

    A wait begins at the poll of the database that first sees the commit, so it is too short by at
    most one polling interval.
    """

    def __init__(self, product: Product, account: Account) -> None:
        self._file = CheckpointFile(product.home / "checkpoints" / "checkpoints.ndjson")
        self._account = account
        self._unsigned: dict[int, float] = {}  # when a commit was first seen, by number
        self.head = self.signed = 0
        self.waits: list[float] = []

    def look(self) -> None:
        with acting(self._account):
            head = Commit.objects.of(self._account).last_seq()
        now = time.monotonic()
        self._unsigned |= dict.fromkeys(range(self.head + 1, head + 1), now)
        self.head = head
        signed = self._file.get(self._account.pk)
        self.signed = signed.statement.seq if signed else 0
        for seq in [seq for seq in self._unsigned if seq <= self.signed]:
            self.waits.append(time.monotonic() - self._unsigned.pop(seq))

    def skip(self) -> None:
        """Leave out the commits since the last look, and those that were not signed then."""
        count = len(self.waits)
        self.look()
        del self.waits[count:]
        self._unsigned.clear()

    def watch(self, until: Callable[[], bool]) -> None:
        while not until():
            self.look()
            time.sleep(0.02)

    def is_signed(self) -> bool:
        self.look()
        return not self._unsigned


@contextmanager
def writer(product: Product) -> Iterator[list[int]]:
    """Write without a break; yield the growing list of statuses."""
    stop, statuses = Event(), list[int]()

    def write() -> None:
        while not stop.is_set():
            text = f"The lamp in hall {len(statuses)} is out."
            statuses.append(product.post("memory/store", {"text": text, "user_id": "ann"}).status)

    thread = Thread(target=write)
    thread.start()
    try:
        yield statuses
    finally:
        stop.set()
        thread.join()


def test_newest_checkpoint_is_at_most_two_seconds_behind(
    separate_product: SeparateProduct, record_figure: RecordFigure
) -> None:
    """The scheduler is killed several times under load.

    Commits that wait for a scheduler that does not run are left out of the first figure, and are
    the second one.
    """
    with separate_product() as (product, account):
        product.ensure_running("valkey", "provider", "web", "beat")
        assert product.post("memory/store", {"text": "First.", "user_id": "ann"}).status == 201
        ages, restarts = Ages(product, account), list[float]()
        seconds_until(ages.is_signed, START)
        ages.waits.clear()
        with writer(product) as statuses:
            for kill in range(KILLS + 1):
                ends = time.monotonic() + SECONDS
                ages.watch(lambda ends=ends: time.monotonic() > ends)  # type: ignore[misc]
                if kill < KILLS:
                    restarts.append(_restart(product, Ages(product, account)))
                    ages.skip()
        seconds_until(ages.is_signed, REQUIRED)
        assert {*statuses} == {201}
        assert len(ages.waits) >= SECONDS, "less than a commit per second was measured"
        record_figure(
            f"{len(ages.waits)} commits under load, signed after at most {max(ages.waits):.1f} s;"
            f" {KILLS} times kill -9 of beat: {max(restarts):.1f} s from its start"
        )
        assert max(ages.waits) <= limit(REQUIRED)
        assert max(restarts) <= limit(RESTART)
        product.command("fsck")


def _restart(product: Product, ages: Ages) -> float:
    """Kill the scheduler and start another; return the seconds until it has signed the backlog.

    The backlog is what was committed before the start. Waiting for all commits under load would
    need a moment between a signature and the next commit.
    """
    product.kill("beat")
    time.sleep(0.5)
    ages.look()
    backlog = ages.head
    assert ages.signed < backlog
    began = time.monotonic()
    product.ensure_running("beat")
    ages.watch(lambda: ages.signed >= backlog or time.monotonic() - began > limit(START))
    return time.monotonic() - began
