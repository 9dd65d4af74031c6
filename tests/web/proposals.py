"""Proposals of an agent, and the requests of the review page."""

import re
from typing import Any

from django.test import Client
from django.urls import reverse

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.database.ids import uuid7
from memory.models import MemoryEntry
from tests import makers
from tests.web.pages import HTMX, html

AGENT = Actor("key", uuid7())
REVIEW = {**HTMX, "HX-Current-URL": "http://testserver/review/"}


def propose(account: Account, *texts: str, **more: Any) -> list[MemoryEntry]:
    return makers.write(account, *texts, actor=AGENT, visibility="account", **more)


def version_form(entry: MemoryEntry, **more: str) -> dict[str, str]:
    return {"version": str(makers.reload(entry).version), **more}


def opened_id(response: Any) -> str:
    """Return the id of the displayed proposal."""
    [results] = re.findall(r'id="waits-([^"]+)"[^>]*aria-current', html(response))
    return str(results)


def entry_url(name: str, entry: MemoryEntry) -> str:
    return reverse(f"memory:{name}", args=[entry.pk])


def submit(client: Client, name: str, entry: MemoryEntry, headers: Any = None, **form: str) -> Any:
    """Post a form about the current version of an entry."""
    return client.post(entry_url(name, entry), version_form(entry, **form), headers=headers)
