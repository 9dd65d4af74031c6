"""Demo data from a page: offered in an empty account, loaded by a job, refused elsewhere."""

from django.test import Client
from pytest_django import DjangoAssertNumQueries as MaxQueries

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from kmapp.ledger.models import Commit
from kmapp.management.demo.load_demo import REQUESTED
from kmapp.outbox.models import OutboxEvent
from memory.models import MemoryEntry, MemoryVersion
from rules.models import Rule
from tests import makers
from tests.fake_provider import FakeProvider
from tests.makers import missing
from tests.web.pages import page

EMPTY = ("/memory/", "/memory/summary/", "/topics/", "/knowledge/", "/lore/", "/rules/", "/review/")
BUTTON = 'action="/demo/load/"'


def test_empty_pages_offer_demo_data_to_admins(
    admin: Client, reviewer: Client, acme: Account
) -> None:
    for path in EMPTY:
        assert missing(page(admin.get(path)), BUTTON) == [], path
        assert missing(page(reviewer.get(path)), BUTTON) == [BUTTON], path
    page(reviewer.post("/demo/load/"), 403)
    makers.write(acme, "Tea at noon.")
    assert missing(page(admin.get("/lore/")), BUTTON) == [BUTTON]
    assert "already has data" in page(admin.get("/demo/"))
    assert "no demo data was loaded" in page(admin.post("/demo/load/"), 409)


def test_job_loads_once_and_shows_progress(
    admin: Client, ada: User, acme: Account, provider: FakeProvider, max_queries: MaxQueries
) -> None:
    for _click in range(2):
        assert admin.post("/demo/load/").headers["Location"] == "/demo/"
    with acting(acme):
        assert OutboxEvent.objects.of(acme).filter(topic=REQUESTED).count() == 1
    with max_queries(16):
        waiting = page(admin.get("/demo/"))
    assert missing(waiting, "Pending", 'data-poll="/demo/"') == []
    assert "Review proposals" not in waiting
    makers.settle()
    assert missing(page(admin.get("/demo/")), "Done", "Review proposals") == []
    with acting(acme):
        assert MemoryEntry.objects.of(acme).awaiting_review().exists()
        assert Rule.objects.of(acme).exists()
        approved = MemoryVersion.objects.of(acme).filter(event="APPROVE")
        assert {version.actor for version in approved} == {f"user:{ada.pk}"}
        seq = Commit.objects.of(acme).last_seq()
    page(admin.post("/demo/load/"), 409)
    makers.settle()
    with acting(acme):
        assert Commit.objects.of(acme).last_seq() == seq
