"""Jobs to interrupt. Each tells a file that it starts, and the ledger that it happened.

But for ONCE, none of them looks whether it happened before: what the outbox does twice is seen.
"""

import ctypes
import os
import signal
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.ledger.actions import recording
from kmapp.ledger.models import Seal
from kmapp.outbox.registry import Job, on
from tests.race import retry_while_locked

SLOW = "chaos.slow"  # takes payload["seconds"], then happens
ONCE = "chaos.once"  # the same, but as the product's own jobs do: not if it happened already
POISON = "chaos.poison"  # the same, but payload["harm"] is done until somebody mends it
LOOK = "chaos.look"  # sees whose rows there are, then happens
EFFECT = "chaos.effect"
STARTS = "starts"
MENDED = "mended"
RAISES, KILLS = "raises", "kills"
DEAF = signal.SIGRTMIN  # whose main thread gets it listens to nothing but a silent socket, for ever


class _Meta(NamedTuple):
    label_lower: str = EFFECT


@dataclass
class Effect:
    """What the ledger seals of a job: that it happened, under the id of its event."""

    pk: UUID
    job_key: str
    _meta: _Meta = field(default_factory=_Meta)

    def body(self) -> dict[str, Any]:
        return {"job_key": self.job_key}


def _hear_nothing(*_: object) -> None:
    ours, _theirs = socket.socketpair()
    ours.recv(1)


signal.signal(DEAF, _hear_nothing)


def happen(job: Job) -> None:
    """Leave a commit that is attributed to the job."""
    with acting(job.account_id), recording(job.account_id, SYSTEM, input=job.job_key) as commit:
        commit.add(Effect(job.event_id, job.job_key), "ADD")  # type: ignore[arg-type]


def happened(job: Job) -> bool:
    """Has it? Inside `acting`: nobody else finds out until we have committed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [job.job_key])
    seals = Seal.objects.of(job.account_id)
    return seals.filter(object_type=EFFECT, object_id=job.event_id).exists()


def tell(*words: object) -> None:
    """Add a line to the file of starts, at once and whole."""
    line = " ".join(map(str, words)) + "\n"
    file = os.open(starts(settings.DATA_DIR), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)


def starts(folder: Path) -> Path:
    return folder / STARTS


@on(SLOW)
def slow(jobs: Sequence[Job]) -> None:
    for job in jobs:
        tell(job.job_key, os.getpid())
        time.sleep(job.payload["seconds"])
        # The start is already counted, so a slow disk must not make the job fail.
        retry_while_locked(partial(happen, job))


@on(ONCE)
def once(jobs: Sequence[Job]) -> None:
    for job in jobs:
        tell(job.job_key, os.getpid())
        with acting(job.account_id):
            known = happened(job)
        if not known:
            time.sleep(job.payload["seconds"])
            with acting(job.account_id):
                if not happened(job):
                    happen(job)


@on(POISON)
def poison(jobs: Sequence[Job]) -> None:
    for job in jobs:
        tell(job.job_key, os.getpid())
        if not (settings.DATA_DIR / MENDED).exists():
            _harm(job.payload["harm"])
        time.sleep(job.payload["seconds"])
        happen(job)


def _harm(how: str) -> None:
    if how == RAISES:
        raise RuntimeError("It never works.")
    if how == KILLS:
        ctypes.string_at(0)  # a segmentation fault


@on(LOOK)
def look(jobs: Sequence[Job]) -> None:
    """One account inside, none outside: as it must be however often the connection was used."""
    for job in jobs:
        with acting(job.account_id):
            inside = _accounts_in_sight()
        tell(job.job_key, job.account_id, *inside, "outside", *_accounts_in_sight())
        happen(job)


def _accounts_in_sight() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT account_id::text FROM ledger_commit")
        return [row[0] for row in cursor.fetchall()]
