"""Pages of another account than the selected one: in an older tab, or from a link in a message."""

from uuid import uuid4

import pytest
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import add_member
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, ApiKey, User
from kmapp.notifications.notification_line import build_account_url
from tests import makers
from tests.web.pages import HTMX, page

REFUSAL = "This page shows Acme, but you now work in Rival. Nothing was changed."


@pytest.fixture
def in_rival(ada: User, rival: Account) -> Client:
    with acting(rival):
        add_member(account_id=rival.pk, user=ada, role="admin", actor=SYSTEM)
    client = makers.signed_in(ada)
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


def test_link_of_a_message_opens_its_account(in_rival: Client, acme: Account) -> None:
    makers.write(acme, "The kiln is hot.")
    link = build_account_url("/memory/?q=kiln", acme.pk)
    assert link.startswith("http://localhost")
    answer = in_rival.get(link)
    assert answer.headers["Location"] == "/memory/?q=kiln"
    assert "The kiln is hot." in page(in_rival.get("/memory/?q=kiln"))
    assert "not a member" in page(in_rival.get(f"/memory/?account={uuid4()}"), 404)
    assert in_rival.get("/memory/?account=x").status_code == 404
