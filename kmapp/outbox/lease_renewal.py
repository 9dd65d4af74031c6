"""Renewal of leases while a handler runs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection
from django.db.models.functions import Now

from kmapp.accounts.acting import acting
from kmapp.outbox.models import Delivery

log = structlog.get_logger()


@contextmanager
def renew_leases(account_id: UUID, token: UUID) -> Iterator[None]:
    """Renew the leases of this token by a thread while the block runs."""
    stop = threading.Event()

    def renew_until_stopped() -> None:
        try:
            while not stop.wait(settings.OUTBOX_HEARTBEAT.total_seconds()):
                _renew(account_id, token)
        finally:
            connection.close()

    thread = threading.Thread(target=renew_until_stopped, name="lease-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _renew(account_id: UUID, token: UUID) -> None:
    """Renew the leases once.

    An error is only logged: if the leases lapse before the next renewal, the outcome is not stored.
    """
    try:
        with acting(account_id):
            # `open()` makes the statement use the index of open deliveries, instead of reading all
            # deliveries of the last days.
            Delivery.objects.of(account_id).open().filter(lease_token=token).update(
                lease_until=Now() + settings.OUTBOX_LEASE
            )
    except Exception as error:  # noqa: BLE001 - no error may end the renewal
        log.warning("heartbeat_failed", error=type(error).__name__)
        connection.close()
