"""Writes per second with and without the thread that signs heads, in turns."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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
from memory.actions.write_entries import write_batch
from memory.models.entry_input import Batch, NewEntry

ROUNDS = 4
SECONDS = 4.0  # of each half of a round
WRITERS = 4


def measure_checkpoint_cost(account: Account) -> str:
    """Return the median rates, the median ratio of a round, and the longest wait for a signature.

    The scheduler is stopped (SIGSTOP) while writes without it are measured.
    """
    without, signed, delays = [], [], []
    with _scheduler() as process:
        _wait_for_signature(account)
        for _round in range(ROUNDS):
            process.send_signal(signal.SIGSTOP)
            without.append(_write_rate(account))
            process.send_signal(signal.SIGCONT)
            _wait_for_signature(account)
            signed.append(_write_rate(account))
            delays.append(_wait_for_signature(account))
    ratio = median(after / before for before, after in zip(without, signed, strict=True))
    return (
        f"{median(without):,.0f} writes per second without checkpoints, {median(signed):,.0f} with"
        f" them: a ratio of {ratio:.2f} (median of {ROUNDS} rounds of {WRITERS} writers). The last"
        f" commit of a round was signed after at most {max(delays):.1f} s."
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
        entry = NewEntry(text=f"The kiln was fired at {time.monotonic_ns()}.", user_id="bench")
        with acting(account):
            write_batch(account_id=account.pk, actor=SYSTEM, batch=Batch(entries=[entry]))
        count += 1
    connection.close()
    return count


def _wait_for_signature(account: Account) -> float:
    """Wait until the last commit is signed; return the seconds."""
    began = time.monotonic()
    with acting(account):
        last = Commit.objects.of(account).last_seq()
    while (signed := find_last_signed(account.pk)) is None or signed.seq < last:
        if time.monotonic() - began > settings.CHECKPOINT_SECONDS + 60:
            raise TimeoutError("The last commit was not signed.")
        time.sleep(0.01)
    return time.monotonic() - began
