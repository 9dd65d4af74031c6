"""What each role may open and change: a table of all pages, and the page that shows it."""

from html import unescape
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from django.apps import apps
from django.core.management import call_command
from django.db import connections, transaction
from django.test import Client
from django.urls import reverse

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import change_role
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, Membership
from kmapp.accounts.permissions import ROLE_PERMISSIONS, Permission
from kmapp.database.ids import uuid7
from memory.models import ReviewLease
from tests import makers
from tests.routes import ALL_ROUTES
from tests.web.pages import page
from tests.web.proposals import propose

ROLES = ("viewer", "reviewer", "editor", "admin")
TABLE: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("page_roles.yaml").read_text())
PAGES = {
    route.name: route.pattern.callback
    for route in ALL_ROUTES
    if hasattr(route.pattern.callback, "access")
}
SLOW_PAGES = {"web:demo_load"}  # it loads a month of history


def required_role(name: str, method: str) -> str:
    """Return the lowest role by the table, or "owner"."""
    tables = [TABLE["all methods"], TABLE[f"only {method}"]]
    list_results = {role for table in tables for role, names in table.items() if name in names}
    assert len(list_results) <= 1, name
    return str(list_results.pop()) if list_results else {"GET": "viewer", "POST": "editor"}[method]


def arguments(name: str) -> list[Any]:
    route = next(each for each in ALL_ROUTES if each.name == name)
    values = {"UUIDConverter": uuid7(), "IntConverter": 1}
    converters = route.pattern.pattern.converters.values()
    return [values.get(type(each).__name__, "x") for each in converters]


@pytest.mark.parametrize("role", ROLES)
def test_each_page_opens_for_its_roles_only(role: str, acme: Account) -> None:
    client = makers.signed_in(makers.member(acme, role, role=role))
    wrong = []
    for name in PAGES.keys() - SLOW_PAGES:
        path = reverse(name.removeprefix(":"), args=arguments(name))
        for method in ("GET", "POST"):
            answer = client.generic(method, path)
            needed = required_role(name, method) if answer.status_code != 405 else role
            may = needed != "owner" and ROLES.index(needed) <= ROLES.index(role)
            if may != (answer.status_code != 403):
                wrong.append((method, name, answer.status_code, needed))
    assert wrong == []


def test_reviewer_decides_but_does_not_change_memories(acme: Account) -> None:
    client = makers.signed_in(makers.member(acme, "rae", role="reviewer"))
    proposal, other = propose(acme, "Tea is at four.", "Tea is at five.")
    [known] = makers.write(acme, "Tea is at three.")
    version = {"version": str(known.version)}
    for act, body in (("edit", {"content": "No tea.", "kind": "fact"}), ("pin", {})):
        assert client.post(f"/review/{known.pk}/{act}/", version | body).status_code == 403
    assert client.post(f"/memory/{known.pk}/undo/?version={known.version}").status_code == 403
    assert makers.reload(known).content == "Tea is at three."
    for act, row in (("approve", proposal), ("reject", other)):
        body = {"version": str(row.version), "reason": "Wrong."}
        assert client.post(f"/review/{row.pk}/{act}/", body).status_code == 302
    approved = makers.reload(proposal)
    assert approved.status == "active"
    undo = client.post(f"/memory/{approved.pk}/undo/?version={approved.version}")
    assert undo.status_code == 302
    assert makers.reload(proposal).status == "proposed"


def test_viewer_reads_the_queue_without_deciding(acme: Account) -> None:
    client = makers.signed_in(makers.member(acme, "vera", role="viewer"))
    [proposal] = propose(acme, "Tea is at four.")
    text = page(client.get("/review/"))
    assert "Your role may read proposals" in text
    assert f"/review/{proposal.pk}/approve/" not in text
    assert 'name="pick"' not in text
    assert makers.count(ReviewLease, acme) == 0, "a viewer keeps nobody from deciding"
    memory = page(client.get(f"/memory/{proposal.pk}/"))
    assert f"/memory/{proposal.pk}/edit/" not in memory


def test_page_shows_the_permissions_that_are_checked(reviewer: Client) -> None:
    text = unescape(page(reviewer.get("/members/roles/")))
    assert makers.missing(text, *(str(each.label) for each in Permission)) == []
    granted = sum(len(permissions) for permissions in ROLE_PERMISSIONS.values())
    assert text.count(">Yes</span>") == granted


def test_reviewers_of_earlier_versions_become_editors(committed: str, acme: Account) -> None:
    member = makers.member(acme, "rae", role="editor")
    with acting(acme):
        change_role(member.memberships.get(), role="reviewer", actor=SYSTEM)
    migration = import_module("kmapp.accounts.migrations.0011_roles")
    with transaction.atomic("owner"):
        migration.make_editors(apps, SimpleNamespace(connection=connections["owner"]))
    assert makers.get(Membership, acme, user=member).role == "editor"
    call_command("checkpoint", stdout=StringIO())
    call_command("fsck", stdout=StringIO())  # raises if a row differs from what was sealed
