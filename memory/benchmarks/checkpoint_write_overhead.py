"""Writes per second with and without the thread that signs heads, in turns."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from django.conf import settings
from django.db import connection

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.ledger.chain_deviations import find_last_signed
from kmapp.ledger.models import Commit
from kmapp.ledger.signing import parse_line
from memory.actions.write_entries import write_batch
from memory.models.entry_input import Batch, NewEntry

ROUNDS = 4
SECONDS = 4.0  # of each half of a round
WRITERS = 4
MIN_RATIO = 0.90  # of the writes with signing to those without
MAX_DELAY = 2.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointCost:
    """Median writes per second, the median ratio of a round, and the longest wait in seconds.

    The wait is that of any commit while heads are signed, not only of the last one of a round,
    which may always be written at the same time before the next poll.
    """

    unsigned_rate: float
    signed_rate: float
    ratio: float
    delay: float  # from a commit to the statement that signs it

    @property
    def is_on_target(self) -> bool:
        return self.ratio >= MIN_RATIO and self.delay <= MAX_DELAY

    def describe_target(self) -> str:
        return (
            f"The target, a ratio of at least {MIN_RATIO:.2f} and at most {MAX_DELAY:.1f} s, "
            f"{'holds' if self.is_on_target else 'is missed'}."
        )


def measure_checkpoint_cost(account: Account) -> CheckpointCost:
    """Measure writes with and without signing, in turns.

    The scheduler is stopped (SIGSTOP) while writes without it are measured.
    """
    without, signed, delays = [], [], []
    with _scheduler() as process:
        _wait_for_signature(account)
        for _round in range(ROUNDS):
            process.send_signal(signal.SIGSTOP)
            without.append(_write_rate(account))
            process.send_signal(signal.SIGCONT)
            before = _wait_for_signature(account)
            signed.append(_write_rate(account))
            last = _wait_for_signature(account)
            delays.append(find_longest_delay(account, range(before + 1, last + 1)))
    return CheckpointCost(
        unsigned_rate=median(without),
        signed_rate=median(signed),
        ratio=median(after / before for before, after in zip(without, signed, strict=True)),
        delay=max(delays),
    )


@contextmanager
def _scheduler() -> Iterator[subprocess.Popen[bytes]]:
    with TemporaryDirectory() as folder:
        schedule = ["--schedule", str(Path(folder) / "schedule")]
        argv = [sys.executable, "-m", "celery", "-A", "kmapp", "beat", *schedule]
        with subprocess.Popen(argv) as process:  # noqa: S603 - our own program
            try:
                yield process
            finally:
                process.send_signal(signal.SIGCONT)
                process.terminate()


def _write_rate(account: Account) -> float:
    ends = time.monotonic() + SECONDS
    with ThreadPoolExecutor(WRITERS) as pool:
        writers = [pool.submit(_write_until, account, ends) for _writer in range(WRITERS)]
        return sum(each.result() for each in writers) / SECONDS


def _write_until(account: Account, ends: float) -> int:
    count = 0
    while time.monotonic() < ends:
        write_memory(account)
        count += 1
    connection.close()
    return count


def write_memory(account: Account) -> None:
    """Write one memory in a commit of its own."""
    entry = NewEntry(text=f"The kiln was fired at {time.monotonic_ns()}.", user_id="bench")
    with acting(account):
        write_batch(account_id=account.pk, actor=SYSTEM, batch=Batch(entries=[entry]))


def _wait_for_signature(account: Account) -> int:
    """Wait until the last commit is signed; return its number."""
    began = time.monotonic()
    with acting(account):
        last = Commit.objects.of(account).last_seq()
    while (signed := find_last_signed(account.pk)) is None or signed.seq < last:
        if time.monotonic() - began > settings.CHECKPOINT_SECONDS + 60:
            raise TimeoutError("The last commit was not signed.")
        time.sleep(0.01)
    return last


def find_longest_delay(account: Account, numbers: range) -> float:
    """Return the most seconds from one of these commits to the first statement that covers it.

    Both times are stored, so that nothing has to be sampled while writes are measured.
    """
    lines = settings.CHECKPOINT_FILE.read_bytes().splitlines(keepends=True)
    statements = [each.statement for line in lines if (each := parse_line(line))]
    heads = [(each.seq, each.created_at) for each in statements if each.account == account.pk]
    with acting(account):
        rows = Commit.objects.of(account).filter(seq__in=numbers)
        commits = list(rows.values_list("seq", "created_at"))
    return max(
        (next(signed for seq, signed in heads if seq >= number) - written).total_seconds()
        for number, written in commits
    )
