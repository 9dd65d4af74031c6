"""Requests with ids of another account get the same responses as those with unknown ids.

Every route is either probed or listed as one that takes no id.
"""

import json
import re
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoDbBlocker, Settings

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from kmapp.api.errors import is_api
from kmapp.database.ids import uuid7
from tests import makers
from tests.full_account import Fingerprint, fingerprint
from tests.kernel.names import ObjectIds, collect_ids
from tests.kernel.probes import (
    CHANGING,
    CHOSEN,
    METHODS,
    NOT_A_METHOD,
    PROBES,
    ROUTES,
    WITHOUT_IDS,
    Fields,
)
from tests.kernel.test_api_routes import VIEWS
from tests.promises.plugin import RecordFigure
from tests.web.proposals import propose
from tests.web.staff import fill

pytestmark = pytest.mark.promise(22)


def test_every_route_is_probed_or_listed_without_ids(record_figure: RecordFigure) -> None:
    assert set(ROUTES) == PROBES.keys() | CHOSEN | WITHOUT_IDS
    assert {name for name in WITHOUT_IDS | CHOSEN if "<" in ROUTES[name]} == set()
    assert {name for name in PROBES if PROBES[name].pk} == {n for n in ROUTES if "<" in ROUTES[n]}
    record_figure(f"{len(PROBES)} routes probed, {len(ROUTES) - len(PROBES)} take no id")


def test_unprobed_api_routes_take_no_ids(client: Client) -> None:
    schema = client.get("/v1/schema").json()
    for name in WITHOUT_IDS:
        for operation in schema["paths"].get("/" + ROUTES[name], {}).values():
            request_shapes = json.dumps([operation.get("parameters"), operation.get("requestBody")])
            for part in re.findall(r"#/components/schemas/(\w+)", request_shapes):
                request_shapes += json.dumps(schema["components"]["schemas"][part])
            assert '"uuid"' not in request_shapes, name
            assert '"client_id"' not in request_shapes, name


@pytest.fixture(scope="module")
def rival_names(module_database: None, django_db_blocker: DjangoDbBlocker) -> ObjectIds:
    """Create rows of every kind for Rival."""
    with django_db_blocker.unblock():
        rival = makers.account("Rival")
        entry = fill(rival)[0]
        member = makers.member(rival, "rita", role="admin")
        waiting = propose(rival, "Rival wants everyone to know this.")[0]
        return collect_ids(rival, entry=entry, proposal=waiting, member=member)


@pytest.fixture
def rival(rival_names: ObjectIds, db: None) -> Account:
    with acting(rival_names.account):
        return Account.objects.get(pk=rival_names.account)


@pytest.fixture(scope="module")
def rival_fingerprint(rival_names: ObjectIds, django_db_blocker: DjangoDbBlocker) -> Fingerprint:
    """Return a fingerprint of the rows of Rival, which no test may change."""
    with django_db_blocker.unblock():
        return fingerprint(Account(pk=rival_names.account))


def unknown_names(names: ObjectIds) -> ObjectIds:
    ids: dict[str, Any] = {
        name: uuid7() for name in ObjectIds.__slots__ if isinstance(getattr(names, name), UUID)
    }
    return replace(names, **ids, slug="name-of-nobody", client_id="name-of-nobody")


@dataclass(frozen=True, slots=True)
class Caller:
    """Sends requests for Acme: to the API with its key, to pages as its signed-in admin."""

    agent: Client
    person: Client

    def __call__(self, method: str, path: str, fields: Fields) -> tuple[int, str, str]:
        """Return the status, the redirect and the body, without parts that differ every time."""
        api = is_api(path)
        client = self.agent if api else self.person
        if method in ("GET", "HEAD"):
            answer = client.generic(method, path, query_params=dict(fields))
        elif api:
            answer = client.generic(method, path, json.dumps(fields), "application/json")
        else:
            form = "application/x-www-form-urlencoded"
            answer = client.generic(
                method, path, urlencode(fields), form, query_params=dict(fields)
            )
        body = b"".join(answer) if answer.streaming else answer.content
        sent_to = CHANGING.sub("<>", answer.headers.get("Location", ""))
        return answer.status_code, sent_to, CHANGING.sub("<>", body.decode())


@pytest.fixture(scope="module")
def acme_credentials(
    rival_names: ObjectIds, django_db_blocker: DjangoDbBlocker
) -> tuple[User, str]:
    """Create Acme; return its admin and the secret of its key."""
    with django_db_blocker.unblock():
        acme = makers.account("Acme")
        return makers.member(acme, "ada", role="admin"), makers.key(acme)[1]


@pytest.fixture
def caller(acme_credentials: tuple[User, str], db: None, settings: Settings) -> Caller:
    settings.THROTTLES = dict.fromkeys(settings.THROTTLES, 1_000_000)  # all tests have one key
    admin, secret = acme_credentials
    agent = Client(headers={"Authorization": f"Bearer {secret}"})
    return Caller(agent, makers.signed_in(admin))


def list_requests(name: str, names: ObjectIds) -> list[tuple[str, Fields]]:
    probe = PROBES[name]
    path = reverse(name, args=[getattr(names, probe.pk)] if probe.pk else [])
    return [(path, body) for body in probe.sent(names)]


@pytest.mark.parametrize("name", PROBES)
def test_ids_of_another_account_are_answered_like_unknown_ids(
    name: str,
    caller: Caller,
    rival_names: ObjectIds,
    rival: Account,
    rival_fingerprint: Fingerprint,
) -> None:
    assert rival_fingerprint["memory_memoryentry"][0] > 1
    refused = set()
    random = unknown_names(rival_names)
    pairs = list(zip(list_requests(name, rival_names), list_requests(name, random), strict=True))
    for method in METHODS:
        for (path, body), (other_path, other_body) in pairs:
            answer = caller(method, path, body)
            assert answer[0] in {*PROBES[name].refused, NOT_A_METHOD}, answer
            plain = caller(method, other_path, other_body)
            assert answer == plain, (method, body)
            refused.add(answer[0])
    assert refused & PROBES[name].refused
    assert fingerprint(rival) == rival_fingerprint


@pytest.mark.parametrize("field", ["account_id", "tenant_id"])
@pytest.mark.parametrize("by", ["account", "slug"])
def test_naming_another_account_is_refused_on_every_route(
    field: str,
    by: str,
    caller: Caller,
    rival_names: ObjectIds,
    rival: Account,
    rival_fingerprint: Fingerprint,
) -> None:
    for address, view in VIEWS.items():
        path = "/" + re.sub(r"<.*?>", str(rival_names.entry), address)
        for method in view.scopes:
            for names in (rival_names, unknown_names(rival_names)):
                named = {field: str(getattr(names, by))}
                bodies: list[Fields] = [named]
                if method == "POST":
                    bodies += [{"nodes": [named]}, {"edges": [named]}]
                for body in bodies:
                    status, _, text = caller(method, path, body)
                    assert (status, json.loads(text)["error"]) == (403, "identity_mismatch"), path
    assert fingerprint(rival) == rival_fingerprint


def test_client_id_of_another_account_can_be_used(
    caller: Caller, rival_names: ObjectIds, rival: Account, rival_fingerprint: Fingerprint
) -> None:
    body = {"client_id": rival_names.client_id, "text": "Mine."}
    status, _, text = caller("POST", "/v1/memory/store", body)
    assert status == 201
    assert json.loads(text)["text"] == "Mine."
    assert caller("POST", "/v1/memory/write", {"nodes": [body]})[0] == 200
    assert fingerprint(rival) == rival_fingerprint


def test_id_of_another_account_cannot_be_used(
    caller: Caller, rival_names: ObjectIds, rival: Account, rival_fingerprint: Fingerprint
) -> None:
    """Ids are unique among all accounts; the response does not reveal which account has one."""
    node = {"id": str(rival_names.proposal), "text": "Mine."}
    mine = [{"client_id": "name-of-a"}, {"client_id": "name-of-b"}]
    nodes = [{**each, "text": "Mine."} for each in mine]
    edge = {"id": str(rival_names.edge), "type": "related_to", "src": mine[0], "dst": mine[1]}
    answers = {
        caller("POST", "/v1/memory/store", node),
        caller("POST", "/v1/memory/write", {"nodes": [node]}),
        caller("POST", "/v1/memory/write", {"nodes": nodes, "edges": [edge]}),
    }
    [(status, _, text)] = answers
    assert status == 409
    assert "Rival" not in text
    assert "<>" not in text
    assert fingerprint(rival) == rival_fingerprint
