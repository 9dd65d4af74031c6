"""The queue after a step of the clock."""

from typing import Any

import structlog
from django.conf import settings
from django.db import connection

from kmapp.database.clock import advance_clock
from kmapp.outbox.registry import MAX_RETRY_DELAY

log = structlog.get_logger()


def follow_clock() -> None:
    """Move the steady time on; after a step back, shorten waits and leases from before it."""
    if not advance_clock():
        return
    values: list[Any] = [settings.OUTBOX_LEASE, MAX_RETRY_DELAY]
    with connection.cursor() as cursor:
        cursor.execute("SELECT hasten_deliveries(%s, %s)", values)
        log.warning("clock_went_back", deliveries=cursor.fetchone()[0])
