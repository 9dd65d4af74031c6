"""The time zone of a person: dates of pages follow it, the API and exports do not."""

from datetime import UTC, datetime

import pytest
from django.test import Client

from kmapp.accounts.models import Account, User
from memory.models import MemoryEntry
from tests import makers
from tests.agent import Agent
from tests.web.pages import page

LATE = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)


@pytest.fixture
def entry(acme: Account) -> MemoryEntry:
    return makers.write(acme, "The kiln was lit.", observed_at=LATE)[0]


def test_pages_use_the_chosen_zone(reviewer: Client, alice: User, entry: MemoryEntry) -> None:
    path = f"/memory/{entry.pk}/"
    assert "2026-03-01 23:30:00 UTC" in page(reviewer.get(path))
    reviewer.cookies["kmapp_zone"] = "America/New_York"
    assert "2026-03-01 18:30:00 EST" in page(reviewer.get(path)), "the zone of the browser"
    body = {"time_zone": "Asia/Shanghai"}
    assert reviewer.post("/preferences/time-zone/", body).status_code == 302
    alice.refresh_from_db()
    assert alice.time_zone == "Asia/Shanghai"
    assert "2026-03-02 07:30:00 CST" in page(reviewer.get(path)), "the chosen one goes first"
    reviewer.post("/preferences/time-zone/", {"time_zone": ""})
    assert "2026-03-01 18:30:00 EST" in page(reviewer.get(path))


def test_unknown_zones_are_ignored_or_refused(reviewer: Client, entry: MemoryEntry) -> None:
    for zone in ("Mars/Olympus", "../../etc/passwd", "<b>"):
        reviewer.cookies["kmapp_zone"] = zone
        assert "2026-03-01 23:30:00 UTC" in page(reviewer.get(f"/memory/{entry.pk}/")), zone
        answer = reviewer.post("/preferences/time-zone/", {"time_zone": zone})
        assert answer.status_code == 422, zone


def test_api_and_exports_stay_in_utc(
    reviewer: Client, alice: User, acme: Account, entry: MemoryEntry
) -> None:
    User.objects.filter(pk=alice.pk).update(time_zone="Asia/Shanghai")
    answer = reviewer.post("/memory/export/", {"form": "csv"})
    exported = b"".join(answer).decode() if answer.streaming else answer.content.decode()
    assert "2026-03-01T23:30:00" in exported
    agent: Agent = makers.agent(acme)
    assert "2026-03-01T23:30:00" in str(agent.post("memory/get", {"id": str(entry.pk)}, 200))
