"""The demo: two languages, something to review, and no harm in doing it twice."""

from io import StringIO

from django.core.management import call_command

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from memory.models import MemoryEntry


def test_the_demo_fills_an_account_once(acme: Account, ada: User) -> None:
    for _again in range(2):
        call_command("demo", "--account", acme.slug, stdout=StringIO())
    with acting(acme):
        rows = MemoryEntry.objects.of(acme)
        assert rows.count() == 23
        assert rows.awaiting_review().count() == 7
        assert rows.filter(pinned=True).count() == 2
        assert rows.filter(status="forgotten").count() == 1
        assert rows.exclude(flags=[]).count() >= 2
        assert rows.filter(content__contains="白茶").exists()
