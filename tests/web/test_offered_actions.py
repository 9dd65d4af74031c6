"""Pages offer only what the person may do: no form and no link leads to a refusal."""

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from html.parser import HTMLParser
from http import HTTPStatus
from urllib.parse import urljoin, urlsplit

import pytest
from django.urls import Resolver404, resolve, reverse
from django.urls.exceptions import NoReverseMatch
from pytest_django import DjangoDbBlocker

from kmapp.accounts.models import User
from kmapp.accounts.permissions import ROLE_PERMISSIONS, Role
from kmapp.web.page_access import PageAccess
from tests import makers
from tests.kernel.names import ObjectIds, collect_ids
from tests.kernel.probes import PROBES
from tests.web.proposals import propose
from tests.web.staff import fill
from tests.web.test_roles import PAGES

Offer = tuple[str, str]  # method and address


class Offers(HTMLParser):
    """Collects what a page offers: links, forms with a button that works, and what htmx sends."""

    def __init__(self, address: str, html: str) -> None:
        super().__init__()
        self.address, self.found = address, set[Offer]()
        self.form: Offer = ("GET", "")
        self.forms_by_id: dict[str, Offer] = {}
        self.fieldsets: list[bool] = []  # whether each open fieldset is disabled
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "fieldset":
            self.fieldsets.append("disabled" in values)
        if any(self.fieldsets) or "disabled" in values:
            return
        if tag == "form":
            self.form = (values.get("method", "get").upper(), values.get("action", ""))
            self.forms_by_id[values.get("id", "")] = self.form
        if tag == "button" and values.get("type", "submit") == "submit":
            method, action = self.forms_by_id.get(values.get("form", "-"), self.form)
            self.add(method, values.get("formaction", action))
        if tag == "a" and "href" in values:
            self.add("GET", values["href"])
        for method in ("GET", "POST"):
            if (name := f"hx-{method.lower()}") in values:
                self.add(method, values[name])

    def handle_endtag(self, tag: str) -> None:
        if tag == "fieldset":
            self.fieldsets.pop()

    def add(self, method: str, address: str) -> None:
        self.found.add((method, urlsplit(urljoin(self.address, address)).path))


@cache
def find_access(path: str) -> PageAccess | None:
    """Return who may open or send a page; None for addresses without a role."""
    try:
        return getattr(resolve(path).func, "access", None)
    except Resolver404:
        return None


def addresses(names: ObjectIds | None) -> Iterator[str]:
    """Yield the pages, each with a row if it needs one."""
    for page in sorted(PAGES):
        name = page.removeprefix(":")
        pk = PROBES[name].pk if name in PROBES else ""
        with suppress(NoReverseMatch):
            yield reverse(name, args=[getattr(names, pk, "")] if pk else [])


@pytest.fixture(scope="module")
def names(module_database: None, django_db_blocker: DjangoDbBlocker) -> ObjectIds:
    """Create an account with rows of every kind, and an empty one, with members of each role."""
    with django_db_blocker.unblock():
        account, empty = makers.account("Acme"), makers.account("Empty")
        entry = fill(account)[0]
        for role in Role:
            makers.member(account, f"full-{role}", role=role)
            makers.member(empty, f"empty-{role}", role=role)
        member = makers.member(account, "ada", role="admin")
        waiting = propose(account, "Acme wants everyone to know this.")[0]
        return collect_ids(account, entry=entry, proposal=waiting, member=member)


@pytest.mark.django_db
@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER, Role.EDITOR])
@pytest.mark.parametrize("account", ["full", "empty"])
def test_pages_offer_what_the_role_may_do(role: Role, account: str, names: ObjectIds) -> None:
    client = makers.signed_in(User.objects.get(username=f"{account}-{role}"))
    refused, opened = set(), 0
    for path in addresses(names if account == "full" else None):
        answer = client.get(path)
        if answer.status_code == HTTPStatus.OK and "html" in answer["Content-Type"]:
            opened += 1
            refused |= {
                (path, *offer)
                for offer in Offers(path, answer.text).found
                if (access := find_access(offer[1])) and not may(role, access, offer[0])
            }
    assert sorted(refused) == []
    assert opened > (60 if account == "full" else 40)


def may(role: Role, access: PageAccess, method: str) -> bool:
    needed = access.get if method == "GET" else access.post
    return not access.owner and needed in ROLE_PERMISSIONS[role]
