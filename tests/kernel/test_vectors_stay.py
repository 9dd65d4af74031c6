"""No response of any route and no log line contains an embedding.

tests/memory/test_debug_embeddings.py tests who may see embeddings.
"""

import json
import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.http.response import HttpResponseBase
from django.test import Client
from pytest_django import DjangoDbBlocker
from structlog.stdlib import ProcessorFormatter

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, ApiKey, User
from kmapp.accounts.scopes import Scope
from kmapp.api.errors import is_api
from kmapp.database.ids import uuid7
from kmapp.search.models import Vector
from tests import makers
from tests.kernel.bodies import BODIES
from tests.kernel.filled_account import FilledAccount, create_filled_account
from tests.kernel.names import ObjectIds
from tests.kernel.places import path_of
from tests.kernel.probes import METHODS, PROBES, ROUTES
from tests.kernel.test_api_routes import VIEWS
from tests.promises.plugin import RecordFigure
from tests.web.staff import MODELS
from tests.web.staff import address as admin_page

pytestmark = pytest.mark.promise(25)

NUMBER = r"-?\d+\.\d+(?:e-?\d+)?"
FLOATS = re.compile(rf"(?:{NUMBER}[\s,;]+){{8}}{NUMBER}")
KEYS = re.compile(r'"(?:embeddings?|preview)":')
DEBUG = {"include_embeddings": True, "return_debug": True, "explain": True, "limit": 5}
FORMS = ("csv", "ndjson")
EVERYTHING_ELSE = [scope.value for scope in Scope if scope != Scope.ADMIN]


@pytest.fixture(scope="module")
def filled_account(module_database: None, django_db_blocker: DjangoDbBlocker) -> FilledAccount:
    """Create rows of every kind, with their vectors."""
    with django_db_blocker.unblock():
        filled = create_filled_account()
        makers.settle()
        with acting(filled.pk):
            ready = Vector.objects.of(filled.pk).filter(embedding__isnull=False)
            results = {
                each.partition(".")[0] for each in ready.values_list("collection", flat=True)
            }
        assert results == {"memory", "knowledge", "context"}
        return filled


@pytest.fixture
def filled(filled_account: FilledAccount, db: None) -> ObjectIds:
    return filled_account.names


@pytest.fixture
def acme(filled_account: FilledAccount, db: None) -> Account:
    with acting(filled_account.pk):
        return Account.objects.get(pk=filled_account.pk)


@pytest.fixture
def key(filled_account: FilledAccount) -> tuple[ApiKey, str]:
    return filled_account.key


@pytest.fixture
def agents(sender: Client, acme: Account) -> list[Client]:
    """Return a client with every scope, and one with every scope but admin."""
    secret = makers.key(acme, EVERYTHING_ELSE)[1]
    other = Client(headers={"Authorization": f"Bearer {secret}"}, raise_request_exception=False)
    return [sender, other]


@pytest.fixture
def person(ada: User) -> Client:
    User.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True)
    client = Client()
    client.force_login(ada)
    return client


def text_of(answer: HttpResponseBase) -> str:
    whole = b"".join(answer) if answer.streaming else answer.content  # type: ignore[attr-defined]
    return str(whole.decode(errors="replace"))  # an image is not text


def is_clean(text: str) -> bool:
    return not FLOATS.search(text) and not KEYS.search(text)


def test_fixture_vectors_are_visible_to_agents(filled: ObjectIds, agents: list[Client]) -> None:
    answer = ask(agents[0], "POST", "/v1/memory/recall_text", {"query": "kettle", **DEBUG})
    assert not is_clean(text_of(answer))
    assert not is_clean(str([0.125] * 9))


def list_requests(name: str, names: ObjectIds) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the methods of an API route with accepted bodies, without and with debug options."""
    bodies = BODIES[name](names) if name in BODIES else [{}]
    for method in VIEWS[ROUTES[name]].scopes if ROUTES[name] in VIEWS else ("GET",):
        for body in bodies if method in ("POST", "PATCH", "PUT") else [{}]:
            yield method, body
            yield method, {**body, **DEBUG}


def ask(client: Client, method: str, path: str, fields: Mapping[str, Any]) -> HttpResponseBase:
    """Send a request and roll back its changes."""
    with transaction.atomic():
        if method in ("GET", "DELETE"):
            query = {name: str(value).lower() for name, value in fields.items()}
            answer = client.generic(method, path, query_params=query)
        else:
            body = json.dumps(fields, cls=DjangoJSONEncoder)
            answer = client.generic(method, path, body, "application/json")
        transaction.set_rollback(True)
    return answer


def test_api_responses_contain_no_vectors(
    filled: ObjectIds,
    agents: list[Client],
    record_figure: RecordFigure,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Only the client without the admin scope, which embeddings need, sends debug options."""
    caplog.set_level("DEBUG")
    names = [name for name in ROUTES if is_api("/" + ROUTES[name])]
    for name in names:
        path, accepted_count = path_of(name, filled), 0
        for method, fields in list_requests(name, filled):
            may, may_not = agents
            for client in [may_not] if DEBUG.keys() <= fields.keys() else [may, may_not]:
                answer = ask(client, method, path, fields)
                accepted_count += answer.status_code < 300
                assert is_clean(text_of(answer)), (name, method, fields)
        assert accepted_count, f"{name} was never answered"
    assert is_clean(log_text(caplog))
    record_figure(f"{len(names)} routes of the API")


def log_text(caplog: pytest.LogCaptureFixture) -> str:
    """Return the log lines as the product writes them."""
    [own_handler] = [
        handler.formatter
        for handler in logging.getLogger().handlers
        if isinstance(handler.formatter, ProcessorFormatter)
    ]
    assert caplog.records
    return "\n".join(map(own_handler.format, caplog.records))


def test_error_responses_contain_no_vectors(
    filled: ObjectIds, agents: list[Client], client: Client
) -> None:
    """Send requests without a key, with invalid JSON and for unknown ids, by each method."""
    may_not = agents[1]
    invalid = [(client, "{}"), (may_not, '{"query": [1.5')]
    for name in (name for name in ROUTES if is_api("/" + ROUTES[name])):
        nowhere = "/" + re.sub(r"<.*?>", str(uuid7()), ROUTES[name])
        requests = [(path_of(name, filled), *each) for each in invalid]
        for path, who, body in [*requests, (nowhere, may_not, "[]")]:
            for method in METHODS:
                with transaction.atomic():
                    answer = who.generic(method, path, body, "application/json")
                    transaction.set_rollback(True)
                assert is_clean(text_of(answer)), (name, method)


def test_pages_contain_no_vectors(
    filled: ObjectIds, person: Client, ada: User, record_figure: RecordFigure
) -> None:
    """Send GET, or POST if GET is not allowed."""
    debug = dict.fromkeys(DEBUG, "1")
    pages = {path_of(name, filled): name for name in ROUTES if not is_api("/" + ROUTES[name])}
    pages |= dict.fromkeys(map(admin_page, MODELS), "")
    opened_count = 0
    for path, name in pages.items():
        person.force_login(ada)  # a page before may have ended the session
        answer: Any = person.get(path, debug)
        if answer.status_code == 405:
            answer = post_page(person, path, PROBES[name].sent(filled)[0] if name in PROBES else {})
        opened_count += answer.status_code < 400
        assert is_clean(text_of(answer)), path
    assert opened_count > 0.8 * len(pages)
    record_figure(f"{len(pages)} pages")


def post_page(person: Client, path: str, fields: Mapping[str, Any]) -> HttpResponseBase:
    with transaction.atomic():
        answer = person.post(path, {**fields}, headers={"HX-Request": "true"})
        text_of(answer)
        transaction.set_rollback(True)
    return answer


@pytest.mark.parametrize("form", FORMS)
def test_exported_files_contain_no_vectors(form: str, filled: ObjectIds, person: Client) -> None:
    answer = person.post(
        path_of("memory:export", filled), {"form": form, "include_embeddings": "1"}
    )
    text = text_of(answer)
    assert answer.status_code == 200
    assert "The kettle is red." in text
    assert is_clean(text)


def test_logged_errors_contain_no_vectors(
    filled: ObjectIds,
    agents: list[Client],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise ValueError(str([0.125] * 384))

    monkeypatch.setattr("kmapp.api.views.AgentView.finalize_response", fail)
    answer = agents[0].post("/v1/memory/search", {"query": "kettle"}, "application/json")
    assert answer.status_code == 500
    assert is_clean(text_of(answer))
    logged = log_text(caplog)
    assert "ValueError" in logged
    assert is_clean(logged)
