"""The panels of the home page."""

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries as MaxQueries

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.web import bounded_counts
from memory.actions.review import pin
from memory.models.entry_input import NewEntry
from tests import makers
from tests.fake_provider import FakeProvider
from tests.knowledge.builders import deliver
from tests.makers import missing
from tests.rules.builders import fill_rules
from tests.web.pages import HTMX, page

PANELS = (
    *("/memory/summary/", "/knowledge/summary/", "/rules/summary/"),
    *("/ledger/summary/", "/operations/summary/"),
)


def panel(reviewer: Client) -> str:
    return page(reviewer.get("/memory/summary/", headers=HTMX))


def test_every_panel_is_polled(reviewer: Client) -> None:
    text = page(reviewer.get("/"))
    for address in PANELS:
        assert missing(text, f'hx-get="{address}"', f'data-poll="{address}"') == []
        assert f'<a href="{address}">' in text, "and can be reached without JavaScript"


def test_new_people_see_four_steps_until_they_hide_them(reviewer: Client, acme: Account) -> None:
    links = ('href="/review/"', 'href="/search/"', 'href="/lab/"', 'href="/connect/"')
    before, _separator, after = page(reviewer.get("/")).partition('class="home"')
    assert missing(before.partition('class="tour"')[2], *links) == []
    assert 'class="tour"' not in after, "above the panels, so that nothing moves"
    hidden = reviewer.post("/tour/hide/", follow=True)
    assert 'class="tour"' not in page(hidden)
    assert 'action="/tour/show/"' in page(hidden), "undo"
    other = makers.signed_in(makers.member(acme, "noor", role="viewer"))
    assert 'class="tour"' in page(other.get("/")), "each person decides"
    assert 'class="tour"' in page(reviewer.post("/tour/show/", follow=True))
    assert reviewer.post("/tour/show/", headers=HTMX).headers["HX-Redirect"] == "/"


def test_empty_account_shows_the_first_command(reviewer: Client) -> None:
    assert "/v1/memory/store -H" in panel(reviewer)


def test_panel_counts_pending_work(
    reviewer: Client, acme: Account, provider: FakeProvider, max_queries: MaxQueries
) -> None:
    tea, _two = makers.write(acme, NewEntry(text="<b>Tea</b> at noon.", user_id="ada"), "Two.")
    with acting(acme):
        pin(makers.decision(tea))
    with max_queries(20):
        displayed = panel(reviewer)
    assert '<a href="/memory/?sort=-created_at">2</a>' in displayed
    assert '<a href="/memory/?embedding=PENDING">2</a>' in displayed
    assert "oldest: <time" in " ".join(displayed.split())
    assert missing(displayed, "pinned", "kmapp (system)", "&lt;b&gt;Tea") == []
    makers.settle()
    assert '<a href="/memory/?embedding=PENDING">0</a>' in panel(reviewer)


def test_figures_of_large_tables_are_bounded(
    reviewer: Client, acme: Account, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(3):
        makers.write(acme, NewEntry(text=f"Tea number {n}.", user_id="ada"))
    links = [f'/memory/{end}">' for end in ("?sort=-created_at", "?status=active")]
    jobs = "/operations/summary/"
    memories, operations = panel(reviewer), page(reviewer.get(jobs, headers=HTMX))
    assert missing(memories, "embeddings pending, oldest:", *(f"{each}3<" for each in links)) == []
    assert "running, oldest:" in operations
    monkeypatch.setattr(bounded_counts, "MAX_FIGURE", 3)
    memories, operations = panel(reviewer), page(reviewer.get(jobs, headers=HTMX))
    assert missing(memories, *(f"{each}2+<" for each in links)) == []
    assert '">2+</a>' in operations
    assert "oldest:" not in memories + operations


def test_rule_panel_counts(reviewer: Client, acme: Account, max_queries: MaxQueries) -> None:
    address = "/rules/summary/"
    assert "No rules need your attention" in page(reviewer.get(address, headers=HTMX))
    fill_rules(acme, 20)
    with max_queries(14):
        displayed = page(reviewer.get(address, headers=HTMX))
    assert '<a href="/rules/">20</a>' in displayed
    assert '<a href="/rules/?suggestion=promote">20</a>' in displayed
    assert "rules performing poorly" not in displayed, "what is nothing takes no place"


def test_unchanged_panels_respond_304(reviewer: Client, acme: Account) -> None:
    headers = {
        path: HTMX | {"If-None-Match": reviewer.get(path, headers=HTMX).headers["ETag"]}
        for path in PANELS
    }
    for path in PANELS:
        again = reviewer.get(path, headers=headers[path])
        assert (again.status_code, again.content) == (304, b""), path
    fill_rules(acme, 1)
    makers.write(acme, "News.", user_id="ada")
    deliver(acme, {"a.bin": b"\x00"})  # fails
    for path in PANELS:
        assert reviewer.get(path, headers=headers[path]).status_code == 200, path
