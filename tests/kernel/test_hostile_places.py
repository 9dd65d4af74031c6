"""Hostile values in every field of every request body that the API schema names.

Values that cannot be stored are refused; others are stored unchanged. The tests fail for a new
route until `bodies.yaml` has an example for it, and for a new field until an example contains it.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import count, cycle
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from pytest_django import DjangoDbBlocker

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, ApiKey
from kmapp.database.psycopg_cursors import prepared_cursor
from kmapp.search.models import IndexedDocument
from kmapp.text.terms import normalise
from tests.full_account import account_tables
from tests.hostile import REFUSED, STORED, Hostile, build_body
from tests.kernel.bodies import BODIES
from tests.kernel.filled_account import FilledAccount, create_filled_account
from tests.kernel.names import ObjectIds
from tests.kernel.places import PlaceFinder, list_request_bodies, path_of
from tests.kernel.probes import ROUTES
from tests.kernel.test_api_routes import VIEWS
from tests.promises.plugin import RecordFigure

pytestmark = pytest.mark.promise(32)

ERROR_KEYS = {"status", "error", "message", "detail", "details", "issues"}
APPS = ("api", "memory", "knowledge", "rules", "context")
ALWAYS = [each for each in REFUSED if each.name in ("NUL as an escape", "lone high surrogate")]
# Without the empty value: in a list, it would leave an empty list, which is valid.
OTHERS = [each for each in REFUSED if each not in ALWAYS and each.raw]
TEXTS = [each.text or "" for each in STORED]
MEGABYTE, MEGABYTE_INTERVAL = "x" * 2**20, 16  # every 16th field also gets a megabyte
# The mark at both ends of a sent text, by which it is found in the database.
NAMED = re.compile(r"km\d{6}")
WORDS = IndexedDocument._meta.db_table
# Columns with a part of a stored text, and the field with that text.
DERIVED = {
    "context_toolresultarchive.query_summary": "",  # any field
    "context_toolresultarchive.result_summary": "",
    "knowledge_knowledgedocument.title": ".documents.0.ref",
}
# Writing routes that store no text, but a confirmation, a number or a digest.
STORES_NOTHING = {"memory:api_erase", "rules:api_backtest", "rules:api_select"}


@pytest.fixture(scope="module")
def filled_account(module_database: None, django_db_blocker: DjangoDbBlocker) -> FilledAccount:
    """Use a new database, because the tests search all of its rows for each stored text."""
    with django_db_blocker.unblock():
        return create_filled_account()


@pytest.fixture
def names(filled_account: FilledAccount, db: None) -> ObjectIds:
    return filled_account.names


@pytest.fixture
def acme(filled_account: FilledAccount, db: None) -> Account:
    with acting(filled_account.pk):
        return Account.objects.get(pk=filled_account.pk)


@pytest.fixture
def key(filled_account: FilledAccount) -> tuple[ApiKey, str]:
    return filled_account.key


@pytest.fixture
def schema(client: Client) -> Any:
    return client.get("/v1/schema").json()


# --- The examples ---------------------------------------------------------------------------------


def test_every_route_with_a_body_accepts_its_example(
    schema: Any, sender: Client, names: ObjectIds
) -> None:
    routes = list_request_bodies(schema)
    assert routes.keys() == BODIES.keys()
    assert {name.partition(":")[0] for name in routes} == set(APPS)
    for name, (method, _) in routes.items():
        for body in BODIES[name](names):
            with transaction.atomic():
                request_body = json.dumps(body)
                answer = sender.generic(
                    method, path_of(name, names), request_body, "application/json"
                )
                assert answer.status_code < 300, (name, body, answer.content)
                transaction.set_rollback(True)


def test_examples_reach_every_field(schema: Any, names: ObjectIds) -> None:
    finder = PlaceFinder(schema)
    for name, (_, shape) in list_request_bodies(schema).items():
        results = finder.build_marked_bodies(shape, BODIES[name](names))
        assert finder.list_places(shape) - results.keys() == set(), name


# --- Hostility ------------------------------------------------------------------------------------


def find_stored(mark: str) -> Iterator[tuple[str, str]]:
    """Yield the column and the text wherever a row contains the mark."""
    with prepared_cursor() as cursor:
        cursor.execute(build_search(), [f"%{mark}%"])
        results = cursor.fetchall()
    for table, stored_text in results:
        for column, value in json.loads(stored_text).items():
            yield from ((f"{table}.{column}", each) for each in strings(value) if mark in each)


@cache
def build_search() -> str:
    """Return a statement that finds the rows of all tables with a text."""
    tables = sorted(account_tables().keys() - {WORDS})
    row = "SELECT '{0}', to_jsonb(t)::text AS said FROM {0} t"
    every = " UNION ALL ".join(map(row.format, tables))
    return f"SELECT * FROM ({every}) r WHERE said LIKE %s::text"  # noqa: S608


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        for each in value:
            yield from strings(each)
    elif isinstance(value, str):
        yield value


def find_altered(text: str, found: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the stored texts that differ from what was sent, except by normalisation."""
    whole = {text, normalise(text)}
    whole |= {json.dumps(each, ensure_ascii=form)[1:-1] for each in whole for form in (True, False)}
    left = []
    for column, rest in found:
        remaining = rest
        for form in sorted(whole, key=len, reverse=True):
            remaining = remaining.replace(form, "")
        if NAMED.search(remaining):
            left.append((column, rest[:200]))
    return left


class Attack:
    """Hostile requests to one route; collects wrong responses, and the fields that are stored."""

    def __init__(self, client: Client, account: Account, name: str, method: str, path: str) -> None:
        self.client, self.account, self.path, self.method = client, account, path, method
        view = VIEWS[ROUTES[name]]
        self.reads = view.scopes[method].value.endswith(":read")
        self.writes = view.idempotent and name not in STORES_NOTHING
        self.wrong: list[Any] = []
        self.stored_fields: set[str] = set()

    def send(self, hostile: Hostile, body: Any) -> Any:
        whole = build_body(hostile, body)
        return self.client.generic(self.method, self.path, whole, "application/json")

    def send_unstorable(self, at: str, hostile: Hostile, body: Any) -> None:
        """Send a value that cannot be stored; record any response but a 400."""
        answer = self.send(hostile, body)
        response_body = answer.json()
        if (
            answer.status_code != 400
            or response_body.keys() != ERROR_KEYS
            or not response_body["issues"]
        ):
            self.wrong.append((self.path, at, hostile.name, answer.status_code, response_body))

    def send_storable(self, at: str, number: int, text: str, body: Any) -> None:
        """Send a text, and roll back; record it if it was neither refused nor stored unchanged."""
        mark = f"km{number:06}"
        text = f"{mark}{text}{mark}"
        request_body = json.dumps(text).encode()
        with transaction.atomic():
            answer = self.send(Hostile("taken", request_body), body)
            if answer.status_code < 300:
                if not self.reads:
                    self._check_stored(at, text)
            elif answer.status_code >= 500 or answer.json().keys() != ERROR_KEYS:
                self.wrong.append((self.path, at, text[:80], answer.status_code, answer.content))
            transaction.set_rollback(True)

    def _check_stored(self, at: str, text: str) -> None:
        [mark] = set(NAMED.findall(text))
        with acting(self.account):
            results = [
                each for each in find_stored(mark) if not at.startswith(DERIVED.get(each[0], "no"))
            ]
        if results:
            self.stored_fields.add(at)
        if left := find_altered(text, results):
            self.wrong.append((self.path, at, text[:80], left))


@pytest.mark.parametrize("app", APPS)
def test_every_field_of_every_route_survives_hostile_values(
    app: str,
    schema: Any,
    sender: Client,
    names: ObjectIds,
    acme: Account,
    record_figure: RecordFigure,
) -> None:
    """Send to each field NUL, a lone surrogate, another invalid value, and valid hostile texts."""
    others, texts, numbers, finder = cycle(OTHERS), cycle(TEXTS), count(), PlaceFinder(schema)
    attacks: dict[str, Attack] = {}
    request_count = 0
    for name, (method, shape) in list_request_bodies(schema).items():
        if name.partition(":")[0] != app:
            continue
        attack = attacks[name] = Attack(sender, acme, name, method, path_of(name, names))
        for at, bodies in finder.build_marked_bodies(shape, BODIES[name](names)).items():
            request_count += 1
            for hostile in (*ALWAYS, next(others)):
                attack.send_unstorable(at, hostile, bodies[0])
            for body in bodies:
                attack.send_storable(at, next(numbers), next(texts), body)
            if request_count % MEGABYTE_INTERVAL == 0:
                attack.send_storable(at, next(numbers), MEGABYTE, bodies[0])
    wrong = [each for attack in attacks.values() for each in attack.wrong]
    assert not wrong, "\n".join(map(str, wrong[:20]))
    idle = [name for name, attack in attacks.items() if attack.writes and not attack.stored_fields]
    assert idle == []
    record_figure(f"{request_count} fields of {len(attacks)} routes in {app}")
