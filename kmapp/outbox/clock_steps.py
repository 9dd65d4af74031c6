"""The queue after a step of the clock."""

import structlog
from django.conf import settings

from kmapp.database.clock import advance_clock
from kmapp.database.cursors import fetch_all
from kmapp.outbox.registry import MAX_RETRY_DELAY

log = structlog.get_logger()


def follow_clock() -> None:
    """Move the steady time on; after a step back, shorten waits and leases from before it."""
    if not advance_clock():
        return
    values = [settings.OUTBOX_LEASE, MAX_RETRY_DELAY]
    [(deliveries,)] = fetch_all("SELECT hasten_deliveries(%s, %s)", values)
    log.warning("clock_went_back", deliveries=deliveries)
