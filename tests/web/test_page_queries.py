"""Pages open with at most 12 statements."""

from collections.abc import Iterator
from http import HTTPStatus

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import NoReverseMatch, reverse
from pytest_django import DjangoDbBlocker

from kmapp.accounts.acting import acting
from kmapp.accounts.models import User
from tests import makers
from tests.kernel.names import ObjectIds, collect_ids
from tests.kernel.probes import PROBES
from tests.web.proposals import propose
from tests.web.staff import fill
from tests.web.test_roles import PAGES

MAX_QUERIES = 12
EXCEPTIONS = {"knowledge:comparison": 14}  # each question is searched with two variants


@pytest.fixture(scope="module")
def names(module_database: None, django_db_blocker: DjangoDbBlocker) -> ObjectIds:
    """Create rows of every kind."""
    with django_db_blocker.unblock():
        account = makers.account("Acme")
        entry = fill(account)[0]
        member = makers.member(account, "ada", role="admin")
        waiting = propose(account, "Acme wants everyone to know this.")[0]
        return collect_ids(account, entry=entry, proposal=waiting, member=member)


def statements(client: Client, path: str) -> tuple[int, list[str]]:
    """Return the status and the statements, without those that control the transaction."""
    with CaptureQueriesContext(connection) as captured:
        status = client.get(path).status_code
    control = ("SAVEPOINT", "RELEASE", "ROLLBACK", "SELECT set_config")
    return status, [q["sql"] for q in captured.captured_queries if not q["sql"].startswith(control)]


def addresses(names: ObjectIds) -> Iterator[tuple[str, str]]:
    """Yield the name and URL of each page, with the id of a row if the page needs one."""
    for name in sorted(page.removeprefix(":") for page in PAGES):
        pk = PROBES[name].pk if name in PROBES else ""
        try:
            yield name, reverse(name, args=[getattr(names, pk)] if pk else [])
        except NoReverseMatch:
            continue


@pytest.mark.django_db
def test_pages_open_with_few_statements(names: ObjectIds) -> None:
    with acting(names.account):
        person = User.objects.get(username="ada")
    person.is_superuser = True  # the pages of the installation's owner, too
    person.save(update_fields=["is_superuser"])
    client = makers.signed_in(person)
    over: dict[str, int] = {}
    opened = 0
    for name, path in addresses(names):
        status, executed = statements(client, path)
        opened += status == HTTPStatus.OK
        if len(executed) > MAX_QUERIES:
            _, executed = statements(client, path)  # caches and sessions are warm
        if len(executed) > MAX_QUERIES:
            over[name] = len(executed)
    assert over == EXCEPTIONS
    assert opened > 100
