"""Error responses have one shape."""

from typing import Any

import pytest
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import (
    DatabaseError,
    InterfaceError,
    InternalError,
    OperationalError,
    ProgrammingError,
)
from django.http import Http404, UnreadablePostError
from django.test import Client
from psycopg import errors as postgres
from psycopg_pool import PoolTimeout
from rest_framework import exceptions as drf

from kmapp.api.errors import NO_ENDPOINT, translate_error
from kmapp.errors import Conflict, OverBudget
from tests.hostile import HOSTILE, MARK, Hostile, build_body

pytestmark = pytest.mark.urls("tests.kernel.api_views")
SHAPE = {"status", "error", "message", "detail", "details", "issues"}

IDLE = postgres.IdleInTransactionSessionTimeout()
READ_ONLY = 'could not extend file "base/5/16384": Read-only file system'


def _of_database(cause: Exception, kind: type[DatabaseError] = OperationalError) -> DatabaseError:
    error = kind("…")
    error.__cause__ = cause
    return error


def _of_privileges(message: str) -> DatabaseError:
    return _of_database(postgres.InsufficientPrivilege(message), ProgrammingError)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (Conflict("No.", code="mine"), 409, "mine"),
        (OverBudget("Slow down.", retry_after=0.2, code="rate_limited_write"), 429, None),
        (drf.ValidationError({"a": ["b"]}), 400, "invalid_request"),
        (drf.ParseError(), 400, "invalid_request"),
        (drf.NotAuthenticated(), 401, "unauthorized"),
        (drf.AuthenticationFailed(), 401, "unauthorized"),
        (drf.PermissionDenied(), 403, "forbidden"),
        (drf.NotFound("MemoryEntry 7"), 404, "not_found"),
        (drf.MethodNotAllowed("PUT"), 405, "method_not_allowed"),
        (drf.UnsupportedMediaType("text/plain"), 415, "unsupported_media_type"),
        (Http404("No MemoryEntry matches."), 404, "not_found"),
        (RequestDataTooBig(), 413, "too_large"),
        (SuspiciousOperation("a secret"), 400, "invalid_request"),
        (UnreadablePostError(), 400, "invalid_request"),
        (_of_database(PoolTimeout()), 503, "unavailable"),
        (_of_database(postgres.TooManyConnections()), 503, "unavailable"),
        (_of_database(postgres.QueryCanceled()), 503, "unavailable"),
        (_of_database(postgres.LockNotAvailable()), 503, "unavailable"),
        (_of_privileges(READ_ONLY), 503, "unavailable"),
        (
            _of_database(postgres.IdleInTransactionSessionTimeout(), InternalError),
            503,
            "unavailable",
        ),
        (InterfaceError("the connection is closed"), 503, "unavailable"),
    ],
)
def test_each_error_is_translated_to_its_status_and_body(
    error: Exception, status: int, code: str | None
) -> None:
    refusal = translate_error(error)
    assert refusal is not None
    assert refusal.status == refusal.body["status"] == status
    assert refusal.body.keys() == SHAPE
    assert code is None or refusal.body["error"] == code
    assert refusal.body["message"] == refusal.body["detail"] != ""
    assert ("Retry-After" in refusal.headers) == (status in (429, 503))
    assert ("WWW-Authenticate" in refusal.headers) == (status == 401)
    assert "secret" not in str(refusal.body)
    assert "MemoryEntry" not in str(refusal.body)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(),
        _of_database(postgres.StatementTooComplex()),
        _of_privileges("permission denied for table accounts_account"),
        _of_database(postgres.InFailedSqlTransaction(), InternalError),
        AssertionError(),
    ],
)
def test_unexpected_errors_are_not_translated(error: Exception) -> None:
    assert translate_error(error) is None


def test_retry_after_is_at_least_one_whole_second() -> None:
    assert translate_error(OverBudget("", retry_after=0.01)).headers["Retry-After"] == "1"  # type: ignore[union-attr]
    assert translate_error(OverBudget("", retry_after=2.1)).headers["Retry-After"] == "3"  # type: ignore[union-attr]


@pytest.mark.django_db
def test_issues_name_fields_as_the_client_sent_them(agent: Client) -> None:
    body = {"content": "", "parts": [{"text": "ok"}, {"text": "x" * 21, "type": "odd"}, 7]}
    answer = agent.post("/v1/notes", body, content_type="application/json")
    assert answer.status_code == 400
    places = {issue["path"]: issue["message"] for issue in answer.json()["issues"]}
    assert places.keys() == {"content", "parts.1.text", "parts.1.type", "parts.2"}
    assert "blank" in places["content"]
    assert "odd" in places["parts.1.type"]


@pytest.mark.django_db
def test_errors_of_a_view_have_one_shape(agent: Client) -> None:
    def fail(mode: str, status: int) -> Any:
        answer = agent.post("/v1/broken", {"mode": mode}, content_type="application/json")
        assert (answer.status_code, answer.json().keys()) == (status, SHAPE), mode
        return answer

    assert fail("gone", 410).json()["details"] == {"id": "?"}, "lone surrogates are replaced"
    assert int(fail("slow", 503).headers["Retry-After"]) > 0
    agent.raise_request_exception = False
    answer = fail("bug", 500)
    assert answer.json()["error"] == "internal_error"
    assert "secret" not in answer.content.decode()


@pytest.mark.parametrize(("path", "status"), [("/v1/notes", 500), ("/v1/notes?busy", 503)])
def test_middleware_failure_returns_json(
    client: Client, settings: Any, path: str, status: int
) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "tests.kernel.api_views.breaking"]
    client.raise_request_exception = False
    answer = client.get(path)
    assert answer.status_code == status
    assert answer.json().keys() == SHAPE
    assert ("Retry-After" in answer.headers) == (status == 503)
    assert "X-Request-Id" in answer.headers
    assert "secret" not in answer.content.decode()


def test_unknown_path_or_host_returns_json(client: Client, settings: Any) -> None:
    for path in ("/v1/nothing", "/v1", "/v1/", "/v1/a/b/c//", "/health/x"):
        answer = client.get(path)
        assert (answer.status_code, answer.json().keys()) == (404, SHAPE), path
        assert answer.json()["message"] == NO_ENDPOINT
    settings.ALLOWED_HOSTS = ["kmapp.test"]
    answer = client.get("/v1/nothing/", headers={"Host": "evil.test"})
    assert (answer.status_code, answer.json().keys()) == (400, SHAPE)


@pytest.mark.promise(32)
@pytest.mark.django_db
@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda hostile: hostile.name)
def test_hostile_body_is_rejected_or_returned_unchanged(agent: Client, hostile: Hostile) -> None:
    body = build_body(hostile, {"text": "ok", "metadata": MARK})
    answer = agent.generic("POST", "/v1/notes", body, content_type="application/json")
    if hostile.refused:
        assert answer.status_code == 400
        assert answer.json()["issues"]
    else:
        assert answer.status_code == 201
        assert answer.json()["metadata"] == hostile.text


@pytest.mark.django_db
def test_other_content_types_return_415(agent: Client) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "x", ""):
        answer = agent.generic("POST", "/v1/notes", "a=b", content_type=kind)
        assert answer.status_code == 415, kind
        assert "Content-Type: application/json" in answer.json()["message"]
