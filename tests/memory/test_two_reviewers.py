"""Two reviewers edit one memory at once: one succeeds, the other sees both."""

import re
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlencode
from uuid import UUID

import pytest
from django.conf import settings
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from kmapp.ledger.models import Commit
from memory.models import MemoryEntry, MemoryVersion
from tests import makers
from tests.promises.plugin import RecordFigure
from tests.web.browser import served

pytestmark = pytest.mark.promise(6)

PAIRS = 50
AT_ONCE = 10  # pairs
TOKEN = "t" * 64


def cookie_of(user: User) -> str:
    client = Client()
    client.force_login(user)
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    return f"{settings.SESSION_COOKIE_NAME}={session}; {settings.CSRF_COOKIE_NAME}={TOKEN}"


def correct(
    base: str, cookie: str, pk: UUID, text: str, start: threading.Barrier
) -> tuple[int, str]:
    """Submit the edit form as a browser does, once both have connected."""
    form = urlencode({"content": text, "title": "", "kind": "fact", "tags": "", "version": "1"})
    headers = {
        "Cookie": cookie,
        "X-CSRFToken": TOKEN,
        "Content-Type": "application/x-www-form-urlencoded",
    }
    with closing(HTTPConnection(base.removeprefix("http://"), timeout=60)) as line:
        line.connect()
        start.wait(60)
        line.request("POST", f"/memory/{pk}/edit/", form, headers)
        answer = line.getresponse()
        return answer.status, answer.read().decode()


def edited(pk: UUID, who: str) -> str:
    return f"Gate {pk} opens at ten, says {who}."


def race(base: str, cookies: Sequence[str], ids: Sequence[UUID]) -> list[list[tuple[int, str]]]:
    """Submit two edits of each memory at once and return the responses in pairs."""
    with ThreadPoolExecutor(2 * AT_ONCE) as people:
        query = []
        for pk in ids:
            start = threading.Barrier(2)
            both = zip(cookies, ("the first", "the second"), strict=True)
            query.append(
                [people.submit(correct, base, c, pk, edited(pk, who), start) for c, who in both]
            )
        return [[each.result() for each in pair] for pair in query]


def test_one_concurrent_edit_wins(
    committed: str, acme: Account, alice: User, record_figure: RecordFigure
) -> None:
    texts = [f"Gate {n} opens at nine." for n in range(PAIRS)]
    ids = [entry.pk for entry in makers.write(acme, *texts, user_id="u")]
    bob = makers.member(acme, "bob", role="editor")
    before = makers.count(Commit, acme)
    with served() as base:
        answers = race(base, [cookie_of(alice), cookie_of(bob)], ids)

    statuses = [sorted(status for status, _ in pair) for pair in answers]
    assert statuses == [[302, 409]] * PAIRS
    with acting(acme):
        rows = MemoryEntry.objects.in_bulk(ids)
        for pk, pair in zip(ids, answers, strict=True):
            first_won = pair[0][0] == 302
            won, lost = ("the first", "the second") if first_won else ("the second", "the first")
            assert (rows[pk].content, rows[pk].version) == (edited(pk, won), 2)
            page = pair[1 if first_won else 0][1]
            assert f"{edited(pk, lost)}</textarea>" in page  # the submitted text is preserved
            assert f"says {won}" in re.sub("<[^>]*>", "", page)  # next to the current text
            assert 'name="version" value="2"' in page
        assert MemoryVersion.objects.filter(entry_id__in=ids, event="UPDATE").count() == PAIRS
        assert Commit.objects.of(acme).count() == before + PAIRS
    makers.check_ledger()
    record_figure(f"{PAIRS} done, {PAIRS} a 409")
