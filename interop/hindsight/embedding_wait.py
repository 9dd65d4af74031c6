"""Waiting for embeddings: a client that retains synchronously expects to recall at once."""

import time
from collections.abc import Sequence
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.outbox.models import Delivery

LONGEST = 3.0  # seconds that a web thread waits; the memories are stored in any case
INTERVAL = 0.05


def wait_for_embeddings(account_id: UUID, events: Sequence[UUID]) -> bool:
    """Return whether the jobs of these events finished within LONGEST."""
    deadline = time.monotonic() + LONGEST
    while True:
        with acting(account_id):
            pending = Delivery.objects.of(account_id).filter(event__in=events).open().exists()
        if not pending or time.monotonic() > deadline:
            return not pending
        time.sleep(INTERVAL)
