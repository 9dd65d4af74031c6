"""The panels of the home page."""

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries as MaxQueries

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.web import figures
from memory.actions.review import pin
from memory.models.entry_input import NewEntry
from tests import makers
from tests.fake_provider import FakeProvider
from tests.knowledge.deliveries import deliver
from tests.makers import missing
from tests.rules.builders import fill_rules
from tests.web.pages import HTMX, page

PANELS = (
    *("/memory/summary/", "/knowledge/summary/", "/rules/summary/"),
    *("/ledger/summary/", "/operations/summary/"),
)


def panel(reviewer: Client) -> str:
    return str(reviewer.get("/memory/summary/", headers=HTMX).content.decode())


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
    monkeypatch.setattr(figures, "MAX_FIGURE", 3)
    memories, operations = panel(reviewer), page(reviewer.get(jobs, headers=HTMX))
    assert missing(memories, *(f"{each}2+<" for each in links)) == []
    assert '">2+</a>' in operations
    assert "oldest:" not in memories + operations


@pytest.mark.parametrize("number", [1, 20])
def test_rule_panel_counts(
    reviewer: Client, acme: Account, number: int, max_queries: MaxQueries
) -> None:
    assert (
        "No rules need your attention"
        in reviewer.get("/rules/summary/", headers=HTMX).content.decode()
    )
    fill_rules(acme, number)
    with max_queries(14):
        displayed = reviewer.get("/rules/summary/", headers=HTMX).content.decode()
    assert f'<a href="/rules/">{number}</a>' in displayed
    assert f'<a href="/rules/?suggestion=promote">{number}</a>' in displayed
    assert "rules performing poorly" not in displayed, "what is nothing takes no place"


@pytest.mark.parametrize("address", PANELS)
def test_unchanged_panel_responds_304(reviewer: Client, acme: Account, address: str) -> None:
    first = reviewer.get(address, headers=HTMX)
    tag = {"If-None-Match": first.headers["ETag"]}
    again = reviewer.get(address, headers=HTMX | tag)
    assert (again.status_code, again.content) == (304, b"")
    fill_rules(acme, 1)
    makers.write(acme, "News.", user_id="ada")
    deliver(acme, {"a.bin": b"\x00"})  # fails
    assert reviewer.get(address, headers=HTMX | tag).status_code == 200
