"""Renewal of leases while a handler runs."""

from datetime import timedelta
from threading import Event
from uuid import UUID, uuid4

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from kmapp.accounts.models import Account
from kmapp.outbox import lease_renewal
from tests import makers

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


def test_leases_are_found_by_an_index(acme: Account) -> None:
    with CaptureQueriesContext(connection) as queries:
        lease_renewal._renew(acme.pk, uuid4())  # noqa: SLF001 - its thread has another connection
    [sql] = [each["sql"] for each in queries if "UPDATE" in each["sql"]]
    plan = makers.explain(acme, sql)
    assert "deliveries_" in plan
    assert "Seq Scan" not in plan
