"""Checks of every endpoint of other products' protocols."""

import re
from itertools import product

from django.test import Client

from interop.protocol_view import ProtocolView
from kmapp.accounts.models import Account, User
from kmapp.api.errors import is_api
from kmapp.database.ids import uuid7
from tests import makers
from tests.routes import ALL_ROUTES

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
ROUTES = {
    each.path: each.view_class for each in ALL_ROUTES if issubclass(each.view_class, ProtocolView)
}
HOSTILE = (
    b"",
    b"[]",
    b'"text"',
    b"{",
    b'{"filters": 5, "query": {}, "messages": "\\ud800", "memories": {"a": 1}}',
    b'{"filters": {"OR": [{}]}, "query": "x", "memories": [null], "memory_id": []}',
    b'{"filters": {"user_id": "\\u0000"}, "query": "x", "feedback": {}, "memory_export_id": []}',
    b'{"filters": {"user_id": "a", "AND": "b"}, "query": "x", "top_k": "many", "threshold": []}',
    b'{"user_id": ["a"], "messages": [{"role": "user"}], "timestamp": 1e300, "infer": "no"}',
    b'{"messages": [], "user_id": "a", "metadata": [1], "timestamp": "yesterday"}',
)


def url(path: str) -> str:
    return "/" + re.sub(r"<.*?>", str(uuid7()), path)


def test_every_route_answers_in_json_and_requires_a_key(client: Client, ada: User) -> None:
    client.force_login(ada)
    body = b'{"filters": {"user_id": "a"}, "query": "x", "user_id": "a", "messages": "x"}'
    for path, method in product(ROUTES, METHODS):
        assert is_api(url(path))
        answer = client.generic(method, url(path), body, content_type="application/json")
        assert answer.status_code in (400, 401, 405), (method, path)
        assert answer["Content-Type"] == "application/json", (method, path)


def test_hostile_bodies_are_refused(acme: Account) -> None:
    agent = Client(headers={"Authorization": f"Token {makers.key(acme)[1]}"})
    for path, method, body in product(ROUTES, METHODS, HOSTILE):
        answer = agent.generic(
            method, url(path) + "?filters=(1,2&user_id=%00", body, "application/json"
        )
        assert answer.status_code < 500 or answer.status_code == 501, (method, path, body)
        assert answer.status_code != 429, "which would test nothing"
