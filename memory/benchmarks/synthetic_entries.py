"""Distributions of synthetic entries: users, runs, ages, visibility."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any
from uuid import UUID

import numpy as np
from django.utils import timezone

from kmapp.database.ids import uuid7
from memory.benchmarks.synthetic_texts import Writer
from memory.models import MemoryEntry

Status, Visibility = MemoryEntry.Status, MemoryEntry.Visibility
RUN_LENGTH = 20
IN_RUNS = 0.6  # of all entries
ACCOUNT_WIDE = 0.15  # of those outside of runs
KINDS = ("fact", "preference", "event", "project_state", "summary", "procedure")
STATUSES = ("active", "proposed", "forgotten")
STATUS_SHARES = (0.96, 0.02, 0.02)


@dataclass
class Population:
    """Generator of the entries of one account: few users have many, most have few."""

    account_id: UUID
    users: int
    rng: np.random.Generator
    writer: Writer = field(init=False)
    runs: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.writer = Writer(self.rng)

    def entries(self, number: int, commit_id: UUID) -> list[MemoryEntry]:
        """Return the entries of one commit; those of a run are consecutive and in order."""
        texts = iter(self.writer.texts(number))
        new_entries: list[MemoryEntry] = []
        while len(new_entries) < number:
            size = min(RUN_LENGTH, number - len(new_entries))
            for values in self._run(size) if self.rng.random() < IN_RUNS else self._facts(size):
                position = len(new_entries)
                new_entries.append(self._entry(next(texts), position, commit_id, values))
        return new_entries

    def user(self) -> str:
        return f"user-{min(int(self.rng.zipf(1.5)), self.users):04}"

    def _run(self, size: int) -> Iterator[dict[str, Any]]:
        user, run = self.user(), f"run-{next(self.runs):06}"
        began = self._some_time()
        for turn in range(size):
            yield {
                "user_id": user,
                "run_id": run,
                "visibility": Visibility.USER,
                "kind": "event",
                "status": Status.ACTIVE,
                "slots": {"speaker": ("Ann", "Bob")[turn % 2]},
                "observed_at": began + timedelta(minutes=turn),
            }

    def _facts(self, size: int) -> Iterator[dict[str, Any]]:
        for _ in range(size):
            everyone = self.rng.random() < ACCOUNT_WIDE
            yield {
                "user_id": "" if everyone else self.user(),
                "visibility": Visibility.ACCOUNT if everyone else Visibility.USER,
                "kind": str(self.rng.choice(KINDS)),
                "status": str(self.rng.choice(STATUSES, p=STATUS_SHARES)),
                "observed_at": self._some_time(),
            }

    def _some_time(self) -> Any:
        return timezone.now() - timedelta(minutes=int(self.rng.integers(0, 500_000)))

    def _entry(
        self, text: str, position: int, commit_id: UUID, values: dict[str, Any]
    ) -> MemoryEntry:
        now = timezone.now()
        return MemoryEntry(
            id=uuid7(),
            account_id=self.account_id,
            commit_id=commit_id,
            written_in=commit_id,
            content=text,
            position=position,
            agent_id=f"agent-{position % 5}",
            created_by="system",
            created_at=now,
            updated_at=now,
            **values,
        )
