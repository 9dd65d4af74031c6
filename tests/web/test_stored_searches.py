"""Recent and saved searches of a person, and their erasure with the people that they name."""

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries as MaxQueries

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.erasure_registry import count_personal_data, erase_personal_data
from kmapp.accounts.models import Account, User
from kmapp.errors import Invalid
from kmapp.ledger.actions import recording
from kmapp.web.models import StoredSearch
from kmapp.web.site_search.stored_searches import MAX_RECENT, MAX_SAVED, list_stored, set_saved
from tests import makers
from tests.makers import missing
from tests.web.pages import page


def texts(account: Account, user: User) -> list[str]:
    with acting(account):
        return [each.text for each in list_stored(account.pk, user)]


def test_searches_with_results_are_recent(
    reviewer: Client, admin: Client, acme: Account, alice: User
) -> None:
    makers.write(acme, "Tea at noon.")
    reviewer.get("/search/", {"q": "tea <b>"})
    reviewer.get("/search/", {"q": "nothing like it"})
    reviewer.post("/search/remember/", {"q": "noon"})
    assert texts(acme, alice) == ["noon", "tea <b>"]
    for path in ("/search/", "/search/palette/"):
        assert missing(page(reviewer.get(path)), "tea &lt;b&gt;", "?q=tea+%3Cb%3E") == []
        assert "tea &lt;b&gt;" not in page(admin.get(path))


def test_oldest_recent_searches_are_deleted(
    reviewer: Client, acme: Account, alice: User, max_queries: MaxQueries
) -> None:
    reviewer.post("/search/save/", {"q": "saved", "saved": "yes"})
    for n in range(MAX_RECENT + 2):
        reviewer.post("/search/remember/", {"q": f"search {n}"})
    recent = [f"search {n}" for n in range(MAX_RECENT + 1, 1, -1)]
    assert texts(acme, alice) == ["saved", *recent]
    with max_queries(10):
        reviewer.get("/search/palette/")


def test_search_is_saved_and_removed(reviewer: Client, acme: Account, alice: User) -> None:
    assert "Enter a search" in page(reviewer.post("/search/save/", {"q": " "}), 400)
    answer = reviewer.post("/search/save/", {"q": "kind:fact tea", "saved": "yes"})
    assert answer.headers["Location"] == "/search/?q=kind%3Afact+tea"
    saved = page(reviewer.get(answer.headers["Location"]))
    assert missing(saved, "Search saved.", "Remove from saved searches") == []
    reviewer.post("/search/save/", {"q": "kind:fact tea", "saved": "no"})
    assert makers.rows(StoredSearch, acme, saved=True) == []
    with acting(acme):
        for n in range(MAX_SAVED):
            set_saved(acme.pk, alice, f"search {n}", saved=True)
        set_saved(acme.pk, alice, "search 1", saved=True)
        with pytest.raises(Invalid, match="Remove one first"):
            set_saved(acme.pk, alice, "one more", saved=True)


def test_searches_that_name_an_erased_person_are_erased(
    reviewer: Client, acme: Account, alice: User
) -> None:
    for text in ("user:mira tea", "mira喜欢什么", "miranda", "lin"):
        reviewer.post("/search/save/", {"q": text, "saved": "yes"})
    with acting(acme):
        assert count_personal_data(acme.pk, {"mira"}) == 2
        with recording(acme.pk, SYSTEM) as commit:
            erase_personal_data(acme.pk, {"mira"}, commit)
    assert set(texts(acme, alice)) == {"miranda", "lin"}
