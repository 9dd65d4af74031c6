"""Whatever is asked of whatever door, and whatever the log says of it: no embedding is in it.

All routes there are, so that a new one is looked at, too. Who may see some: test_debug_exits.
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
from structlog.stdlib import ProcessorFormatter

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from kmapp.accounts.scopes import Scope
from kmapp.api.errors import is_api
from kmapp.database.ids import uuid7
from kmapp.search.models import Vector
from tests import makers
from tests.kernel.bodies import BODIES
from tests.kernel.names import Names
from tests.kernel.places import path_of
from tests.kernel.probes import METHODS, PROBES, ROUTES
from tests.kernel.test_api_routes import VIEWS
from tests.promises.plugin import Measured
from tests.web.staff import MODELS
from tests.web.staff import address as admin_page

pytestmark = pytest.mark.promise(25)

NUMBER = r"-?\d+\.\d+(?:e-?\d+)?"
FLOATS = re.compile(rf"(?:{NUMBER}[\s,;]+){{8}}{NUMBER}")
KEYS = re.compile(r'"(?:embeddings?|preview)":')
ASKED = {"include_embeddings": True, "return_debug": True, "explain": True, "limit": 5}
FORMS = ("csv", "ndjson")
EVERYTHING_ELSE = [scope.value for scope in Scope if scope != Scope.ADMIN]


@pytest.fixture
def filled(names: Names, acme: Account) -> Names:
    """Rows of every kind; what can have a vector has one."""
    makers.settle()
    with acting(acme):
        ready = Vector.objects.of(acme).filter(embedding__isnull=False)
        found = {each.partition(".")[0] for each in ready.values_list("collection", flat=True)}
    assert found == {"memory", "knowledge", "context"}
    return names


@pytest.fixture
def agents(sender: Client, acme: Account) -> list[Client]:
    """Whose key may do everything, and whose key may do everything but open the gate."""
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
    return str(whole.decode())


def shut(text: str) -> bool:
    return not FLOATS.search(text) and not KEYS.search(text)


def test_fixture_vectors_are_visible_to_agents(filled: Names, agents: list[Client]) -> None:
    """Our own eyes are open."""
    answer = ask(agents[0], "POST", "/v1/memory/recall_text", {"query": "kettle", **ASKED})
    assert not shut(text_of(answer))
    assert not shut(str([0.125] * 9))


def asked_of(name: str, names: Names) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Methods of an API route, with bodies that are taken, and with more in them."""
    bodies = BODIES[name](names) if name in BODIES else [{}]
    for method in VIEWS[ROUTES[name]].scopes if ROUTES[name] in VIEWS else ("GET",):
        for body in bodies if method in ("POST", "PATCH", "PUT") else [{}]:
            yield method, body
            yield method, {**body, **ASKED}


def ask(client: Client, method: str, path: str, said: Mapping[str, Any]) -> HttpResponseBase:
    """As if it had not been asked."""
    with transaction.atomic():
        if method in ("GET", "DELETE"):
            query = {name: str(value).lower() for name, value in said.items()}
            answer = client.generic(method, path, query_params=query)
        else:
            body = json.dumps(said, cls=DjangoJSONEncoder)
            answer = client.generic(method, path, body, "application/json")
        transaction.set_rollback(True)
    return answer


def test_api_responses_contain_no_vectors(
    filled: Names, agents: list[Client], measured: Measured, caplog: pytest.LogCaptureFixture
) -> None:
    """The gate is asked for by those who have it not; who has it does not ask."""
    caplog.set_level("DEBUG")
    names = [name for name in ROUTES if is_api("/" + ROUTES[name])]
    for name in names:
        path, taken = path_of(name, filled), 0
        for method, said in asked_of(name, filled):
            may, may_not = agents
            for client in [may_not] if ASKED.keys() <= said.keys() else [may, may_not]:
                answer = ask(client, method, path, said)
                taken += answer.status_code < 300
                assert shut(text_of(answer)), (name, method, said)
        assert taken, f"{name} was never answered"
    assert shut(written(caplog))
    measured(f"{len(names)} routes of the API")


def written(caplog: pytest.LogCaptureFixture) -> str:
    """What was logged, as the product writes it."""
    [ours] = [
        handler.formatter
        for handler in logging.getLogger().handlers
        if isinstance(handler.formatter, ProcessorFormatter)
    ]
    assert caplog.records
    return "\n".join(map(ours.format, caplog.records))


def test_error_responses_contain_no_vectors(
    filled: Names, agents: list[Client], client: Client
) -> None:
    """To nobody, to who is not understood, to who asks for what is not there, by each method."""
    may_not = agents[1]
    wrong = {"a stranger": (client, "{}"), "cut short": (may_not, '{"query": [1.5')}
    for name in (name for name in ROUTES if is_api("/" + ROUTES[name])):
        nowhere = "/" + re.sub(r"<.*?>", str(uuid7()), ROUTES[name])
        asked = [(path_of(name, filled), *each) for each in wrong.values()]
        for path, who, body in [*asked, (nowhere, may_not, "[]")]:
            for method in METHODS:
                with transaction.atomic():
                    answer = who.generic(method, path, body, "application/json")
                    transaction.set_rollback(True)
                assert shut(text_of(answer)), (name, method)


def test_pages_contain_no_vectors(filled: Names, person: Client, measured: Measured) -> None:
    """Asked for, and where that is none of its methods, sent what it takes."""
    asked = dict.fromkeys(ASKED, "1")
    pages = {path_of(name, filled): name for name in ROUTES if not is_api("/" + ROUTES[name])}
    pages |= dict.fromkeys(map(admin_page, MODELS), "")
    shown = 0
    for path, name in pages.items():
        answer: Any = person.get(path, asked)
        if answer.status_code == 405:
            answer = sent(person, path, PROBES[name].said(filled)[0] if name in PROBES else {})
        shown += answer.status_code < 400
        assert shut(text_of(answer)), path
    assert shown > 0.8 * len(pages), "most of them are seen"
    measured(f"{len(pages)} pages")


def sent(person: Client, path: str, said: Mapping[str, Any]) -> HttpResponseBase:
    with transaction.atomic():
        answer = person.post(path, {**said}, headers={"HX-Request": "true"})
        text_of(answer)
        transaction.set_rollback(True)
    return answer


@pytest.mark.parametrize("form", FORMS)
def test_exported_files_contain_no_vectors(form: str, filled: Names, person: Client) -> None:
    answer = person.post(
        path_of("memory:export", filled), {"form": form, "include_embeddings": "1"}
    )
    text = text_of(answer)
    assert answer.status_code == 200
    assert "The kettle is red." in text
    assert shut(text)


def test_logged_errors_contain_no_vectors(
    filled: Names,
    agents: list[Client],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An error that quotes a vector, in the answer and in the log as the product writes it."""

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise ValueError(str([0.125] * 384))

    monkeypatch.setattr("kmapp.api.views.AgentView.finalize_response", fail)
    answer = agents[0].post("/v1/memory/search", {"query": "kettle"}, "application/json")
    assert answer.status_code == 500
    assert shut(text_of(answer))
    said = written(caplog)
    assert "ValueError" in said
    assert shut(said)
