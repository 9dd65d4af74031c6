"""Jobs to interrupt. Each writes its start to a file and its effect to the ledger.

Only ONCE checks for an earlier effect, so that a second run of another job is noticed.
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

from celery.signals import task_postrun
from django.conf import settings
from django.db import connection

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.ledger.actions import recording
from kmapp.ledger.models import Seal
from kmapp.outbox.registry import Job, register_handler
from tests.race import retry_while_locked

SLOW = "chaos.slow"  # takes payload["seconds"], then commits
ONCE = "chaos.once"  # the same, but not if it took effect before, as jobs of the product do
POISON = "chaos.poison"  # the same, but fails by payload["harm"] until the file MENDED exists
LOOK = "chaos.look"  # writes the visible accounts, then commits
EFFECT = "chaos.effect"
STARTS = "starts"
TASKS = "tasks"
MENDED = "mended"
RAISES, KILLS = "raises", "kills"
STUCK = signal.SIGRTMIN  # blocks the main thread that receives it forever


class _Meta(NamedTuple):
    label_lower: str = EFFECT


@dataclass
class Effect:
    """The object of a job's commit, with the id of its event."""

    pk: UUID
    job_key: str
    _meta: _Meta = field(default_factory=_Meta)

    def body(self) -> dict[str, Any]:
        return {"job_key": self.job_key}


def _block(*_: object) -> None:
    ours, _theirs = socket.socketpair()
    ours.recv(1)


signal.signal(STUCK, _block)


def commit_effect(job: Job) -> None:
    """Commit the effect of the job."""
    with acting(job.account_id), recording(job.account_id, SYSTEM, input=job.job_key) as commit:
        commit.add(Effect(job.event_id, job.job_key), "ADD")  # type: ignore[arg-type]


def has_effect(job: Job) -> bool:
    """Lock the job until the end of the transaction, and return whether it took effect."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [job.job_key])
    seals = Seal.objects.of(job.account_id)
    return seals.filter(object_type=EFFECT, object_id=job.event_id).exists()


@task_postrun.connect
def write_task(task: Any, state: str, **_kwargs: Any) -> None:
    """Append the name and state of a Celery task that ran."""
    _append(settings.DATA_DIR / TASKS, f"{task.name} {state}")


def write_start(*words: object) -> None:
    """Append a line to the file of starts."""
    _append(starts(settings.DATA_DIR), " ".join(map(str, words)))


def _append(path: Path, line: str) -> None:
    """Append a line in one write."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)


def starts(folder: Path) -> Path:
    return folder / STARTS


@register_handler(SLOW)
def slow(jobs: Sequence[Job]) -> None:
    for job in jobs:
        write_start(job.job_key, os.getpid())
        time.sleep(job.payload["seconds"])
        # The start is already counted, so a slow disk must not make the job fail.
        retry_while_locked(partial(commit_effect, job))


@register_handler(ONCE)
def once(jobs: Sequence[Job]) -> None:
    for job in jobs:
        write_start(job.job_key, os.getpid())
        with acting(job.account_id):
            done = has_effect(job)
        if not done:
            time.sleep(job.payload["seconds"])
            with acting(job.account_id):
                if not has_effect(job):
                    commit_effect(job)


@register_handler(POISON)
def poison(jobs: Sequence[Job]) -> None:
    for job in jobs:
        write_start(job.job_key, os.getpid())
        if not (settings.DATA_DIR / MENDED).exists():
            _harm(job.payload["harm"])
        time.sleep(job.payload["seconds"])
        commit_effect(job)


def _harm(how: str) -> None:
    if how == RAISES:
        raise RuntimeError("It never works.")
    if how == KILLS:
        ctypes.string_at(0)  # a segmentation fault


@register_handler(LOOK)
def look(jobs: Sequence[Job]) -> None:
    """Write the accounts visible inside and outside of `acting`."""
    for job in jobs:
        with acting(job.account_id):
            inside = _visible_accounts()
        write_start(job.job_key, job.account_id, *inside, "outside", *_visible_accounts())
        commit_effect(job)


def _visible_accounts() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT account_id::text FROM ledger_commit")
        return [row[0] for row in cursor.fetchall()]
