"""Renewal of leases while a handler runs."""

from datetime import timedelta
from threading import Event
from uuid import UUID, uuid4

import pytest
from django.db import OperationalError
from pytest_django import Settings

from kmapp.outbox import lease_renewal

LAST = 3


def test_renewal_continues_after_errors(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.OUTBOX_HEARTBEAT = timedelta(milliseconds=1)
    renewals: list[UUID] = []
    done = Event()

    def fail(account_id: UUID) -> None:
        renewals.append(account_id)
        if len(renewals) == LAST:
            done.set()
        raise OperationalError("The server closed the connection.")

    monkeypatch.setattr(lease_renewal, "acting", fail)
    with lease_renewal.renew_leases(uuid4(), uuid4()):
        assert done.wait(10)
