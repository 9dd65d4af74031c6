"""A page that shows another account than the one to which a second tab switched."""

import pytest
from django.test import Client
from playwright.sync_api import expect

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import add_member
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, ApiKey, User
from tests import makers
from tests.web.browser import Visitor
from tests.web.pages import HTMX, page

REFUSAL = "This page shows Acme, but you now work in Rival. Nothing was changed."


@pytest.fixture
def in_both(ada: User, rival: Account) -> User:
    with acting(rival):
        add_member(account_id=rival.pk, user=ada, role="admin", actor=SYSTEM)
    return ada


@pytest.fixture
def in_rival(in_both: User, rival: Account) -> Client:
    client = makers.signed_in(in_both)
    assert client.post("/account/", {"account": str(rival.pk)}).status_code == 302
    return client


def test_form_of_another_account_is_refused(
    in_rival: Client, acme: Account, rival: Account
) -> None:
    form = {"name": "support bot", "scopes": ["memory:read"], "expires": "30"}
    shown = {"page_account": str(acme.pk)}
    assert REFUSAL in page(in_rival.post("/keys/new/", form | shown), 409)
    assert makers.count(ApiKey, acme) == makers.count(ApiKey, rival) == 0
    assert in_rival.post("/keys/new/", form).status_code == 200
    assert in_rival.post("/account/", {"account": str(acme.pk)} | shown).status_code == 302
    assert in_rival.post("/keys/new/", form | shown).status_code == 200
    assert makers.count(ApiKey, acme) == makers.count(ApiKey, rival) == 1


def test_part_of_another_account_is_refused(
    in_rival: Client, acme: Account, rival: Account
) -> None:
    shows_acme = HTMX | {"X-Page-Account": str(acme.pk)}
    assert REFUSAL in page(in_rival.get("/memory/", headers=shows_acme), 409)
    shows_rival = HTMX | {"X-Page-Account": str(rival.pk)}
    assert in_rival.get("/memory/", headers=shows_rival).status_code == 200
    left = HTMX | {"X-Page-Account": "of no account"}
    assert "This page shows another account" in page(in_rival.get("/memory/", headers=left), 409)


@pytest.mark.browser
def test_tab_that_was_left_open_changes_nothing(
    visitor: Visitor, in_both: User, acme: Account, rival: Account
) -> None:
    visitor.sign_in(in_both)
    form, listing, other = visitor.page, *(visitor.page.context.new_page() for _ in range(2))
    visitor.go("/keys/new/")
    listing.goto(f"{visitor.base}/memory/")
    other.goto(visitor.base)
    other.locator(".rail-foot summary[title=Account]").click()
    other.locator(".rail-foot").get_by_role("button", name="Rival").click()
    expect(other.locator(".rail-foot summary[title=Account]")).to_contain_text("Rival")
    listing.select_option("#id_kind", "fact")
    expect(listing.get_by_role("alert")).to_contain_text(REFUSAL)
    form.locator("[name=name]").fill("support bot")
    form.locator("form.narrow [type=submit]").click()
    expect(form.get_by_text(REFUSAL)).to_be_visible()
    assert makers.count(ApiKey, acme) == makers.count(ApiKey, rival) == 0
    for tab in (listing, other):
        tab.close()
