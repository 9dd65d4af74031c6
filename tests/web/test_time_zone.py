"""The time zone of a person: dates of pages follow it, the API and exports do not."""

from datetime import UTC, datetime

from django.test import Client

from kmapp.accounts.models import Account, User
from tests import makers
from tests.agent import Agent
from tests.web.pages import page
from tests.web.proposals import propose

LATE = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)


def test_pages_use_the_chosen_zone_and_the_api_and_exports_utc(
    reviewer: Client, acme: Account, alice: User
) -> None:
    [entry] = makers.write(acme, "The kiln was lit.", observed_at=LATE)
    path = f"/memory/{entry.pk}/"
    assert "2026-03-01 23:30:00 UTC" in page(reviewer.get(path))
    for zone in ("Mars/Olympus", "../../etc/passwd", "<b>"):
        reviewer.cookies["kmapp_zone"] = zone
        assert "2026-03-01 23:30:00 UTC" in page(reviewer.get(path)), zone
        answer = reviewer.post("/preferences/time-zone/", {"time_zone": zone})
        assert answer.status_code == 422, zone
    reviewer.cookies["kmapp_zone"] = "America/New_York"
    assert "2026-03-01 18:30:00 EST" in page(reviewer.get(path)), "the zone of the browser"
    body = {"time_zone": "Asia/Shanghai"}
    assert reviewer.post("/preferences/time-zone/", body).status_code == 302
    alice.refresh_from_db()
    assert alice.time_zone == "Asia/Shanghai"
    assert "2026-03-02 07:30:00 CST" in page(reviewer.get(path)), "the chosen one goes first"

    answer = reviewer.post("/memory/export/", {"form": "csv"})
    exported = b"".join(answer).decode() if answer.streaming else answer.content.decode()
    assert "2026-03-01T23:30:00" in exported
    agent: Agent = makers.agent(acme)
    assert "2026-03-01T23:30:00" in str(agent.post("memory/get", {"id": str(entry.pk)}, 200))

    reviewer.post("/preferences/time-zone/", {"time_zone": ""})
    assert "2026-03-01 18:30:00 EST" in page(reviewer.get(path))


def test_first_and_last_times_are_shown_in_every_zone(reviewer: Client, acme: Account) -> None:
    first = datetime(1, 1, 1, tzinfo=UTC)
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    [entry] = propose(acme, "The kiln is hot.", observed_at=first, expires_at=last)
    for zone in ("America/New_York", "Asia/Shanghai", "UTC"):
        reviewer.cookies["kmapp_zone"] = zone
        for path in ("/review/", f"/memory/{entry.pk}/", "/memory/"):
            assert "The kiln is hot." in page(reviewer.get(path)), (zone, path)
    assert "9999-12-31 23:59:59 UTC" in page(reviewer.get(f"/memory/{entry.pk}/"))
