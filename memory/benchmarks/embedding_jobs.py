"""Cost of the jobs that follow new memories, with a fake embedder that responds at once."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from django.db import connection

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.outbox.deliver import deliver_due
from kmapp.providers.active_models import active_model
from kmapp.providers.embedding import Kind, OpenAIEmbedder
from memory.actions.write_entries import write_batch
from memory.benchmarks.synthetic_entries import Cloud, Writer
from memory.models.entry_input import Batch, NewEntry

BATCH = 200  # memories of one write, which are one run
QUEUES = ("embedding", "default", "clustering")  # vectors; order of the run; triage and edges


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Seconds and statements, of this process and its connection."""

    elapsed: float
    process: float
    postgres: float
    statements: int

    def describe(self, since: "Usage", number: int) -> str:
        """Return the rate, and the cost of each memory since another measurement."""
        process, postgres = self.process - since.process, self.postgres - since.postgres
        return (
            f"{number / (self.elapsed - since.elapsed):,.0f} memories a second; each:"
            f" {1000 * process / number:.2f} ms of the process,"
            f" {1000 * postgres / number:.2f} ms of PostgreSQL,"
            f" {(self.statements - since.statements) / number:.1f} statements"
        )


class _Counter:
    def __init__(self) -> None:
        self.statements = 0
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            self.stat = Path(f"/proc/{cursor.fetchone()[0]}/stat")

    def __call__(self, execute: Any, *rest: Any) -> Any:
        self.statements += 1
        return execute(*rest)

    def read(self) -> Usage:
        user, system = self.stat.read_text().rpartition(")")[2].split()[11:13]
        return Usage(
            elapsed=time.perf_counter(),
            process=time.process_time(),
            postgres=(int(user) + int(system)) / os.sysconf("SC_CLK_TCK"),
            statements=self.statements,
        )


def measure_embedding_jobs(account: Account, number: int) -> list[str]:
    """Return a line for each queue: what its jobs of `number` new memories cost."""
    rng = np.random.default_rng(23)
    cloud, writer = Cloud(active_model().dimensions, rng), Writer(rng)

    def embed(_self: OpenAIEmbedder, texts: Sequence[str], *, kind: Kind) -> list[list[float]]:
        vectors: list[list[float]] = cloud.draw(len(texts)).tolist()
        return vectors

    texts = writer.texts(number)
    for start in range(0, number, BATCH):
        entries = [
            NewEntry(text=text, user_id="writer", run_id=f"jobs-{start}")
            for text in texts[start : start + BATCH]
        ]
        with acting(account):
            write_batch(account_id=account.pk, actor=SYSTEM, batch=Batch(entries=entries))
    counter, lines = _Counter(), []
    with patch.object(OpenAIEmbedder, "embed", embed), connection.execute_wrapper(counter):
        for queue in QUEUES:
            before = counter.read()
            deliver_due(queue, seconds=3600)
            lines.append(f"{queue}: {counter.read().describe(before, number)}")
    return lines
