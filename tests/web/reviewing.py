"""What tests of the review page say and ask."""

import re
from typing import Any

from django.urls import reverse

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.database.ids import uuid7
from memory.actions.entries import write_batch
from memory.models import MemoryEntry
from memory.models.entry_input import Batch, NewEntry

AGENT = Actor("key", uuid7())
HTMX = {"HX-Request": "true"}
REVIEW = {**HTMX, "HX-Current-URL": "http://testserver/review/"}


def page(answer: Any) -> str:
    return str(answer.content.decode())


def proposed(account: Account, *texts: str, **more: Any) -> list[MemoryEntry]:
    """Texts that an agent of the account wants everyone to know."""
    with acting(account):
        drafts = [NewEntry(text=text, visibility="account", **more) for text in texts]
        written = write_batch(account_id=account.pk, actor=AGENT, batch=Batch(entries=drafts))
    return list(written.entries)


def now(entry: MemoryEntry) -> MemoryEntry:
    with acting(entry.account_id):
        return MemoryEntry.objects.get(pk=entry.pk)


def seen(entry: MemoryEntry, **more: str) -> dict[str, str]:
    return {"version": str(now(entry).version), **more}


def opened(answer: Any) -> str:
    """The id of the proposal that the page shows."""
    [found] = re.findall(r'id="waits-([^"]+)"[^>]*aria-current', page(answer))
    return str(found)


def url(deed: str, entry: MemoryEntry) -> str:
    return reverse(f"memory:{deed}", args=[entry.pk])
