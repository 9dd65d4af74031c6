"""Middleware: request ids, log lines, limits of the body, trailing slashes."""

import io
import json
import logging
import tracemalloc
import uuid
from typing import Any

import pytest
import structlog
from django.test import Client
from gunicorn.http.errors import InvalidChunkSize  # type: ignore[import-untyped]

from kmapp.accounts.models import ApiKey

pytestmark = pytest.mark.urls("tests.kernel.api_views")
LIMIT = 2_000


class Endless(io.BytesIO):
    """A body without end; counts the bytes that were read."""

    number = 0

    def read(self, size: int | None = -1) -> bytes:
        assert size is not None
        assert size > 0
        self.number += size
        return b" " * size


def _chunked(client: Client, source: Any) -> Any:
    environ = {
        "HTTP_TRANSFER_ENCODING": "chunked",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": "",
        "wsgi.input": source,
    }
    return client.generic("POST", "/v1/notes", **environ)


@pytest.mark.promise(33)
@pytest.mark.django_db
def test_body_over_the_limit_returns_413(agent: Client, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = LIMIT
    fits = json.dumps({"text": "a" * (LIMIT - len('{"text": ""}'))})
    assert agent.generic("POST", "/v1/notes", fits, "application/json").status_code == 201
    answer = agent.generic("POST", "/v1/notes", fits + " ", "application/json")
    assert answer.status_code == 413
    assert answer.json()["error"] == "too_large"
    assert f"{LIMIT:,} bytes" in answer.json()["message"]
    assert "MAX_BODY_BYTES" in answer.json()["message"]


@pytest.mark.django_db
def test_chunked_body_is_accepted(agent: Client) -> None:
    answer = _chunked(agent, io.BytesIO(b'{"text": "in pieces"}'))
    assert answer.status_code == 201
    assert answer.json()["text"] == "in pieces"


@pytest.mark.promise(33)
@pytest.mark.django_db
def test_endless_chunked_body_returns_413_without_buffering(agent: Client, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = LIMIT
    source = Endless()
    tracemalloc.start()
    answer = _chunked(agent, source)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (answer.status_code, answer.json()["error"]) == (413, "too_large")
    assert source.number > 100 * most


@pytest.mark.promise(33)
@pytest.mark.django_db
@pytest.mark.parametrize("trouble", [TimeoutError(), InvalidChunkSize(b"zz")], ids=repr)
def test_interrupted_body_returns_400(agent: Client, trouble: Exception) -> None:
    class Troubled(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise trouble

    answer = _chunked(agent, Troubled())
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


@pytest.mark.promise(33)
@pytest.mark.parametrize("length", ["-1", "1e9", "²", "x"])
def test_invalid_content_length_is_a_client_error(client: Client, length: str) -> None:
    answer = client.generic(
        "POST", "/v1/notes", "{}", "application/json", CONTENT_LENGTH=length, REMOTE_ADDR="7.7.7.7"
    )
    assert answer.status_code in (400, 401)


@pytest.mark.django_db
def test_api_accepts_an_optional_trailing_slash(agent: Client) -> None:
    for path in ("/v1/notes", "/v1/notes/", "/health", "/health/"):
        assert agent.get(path, {"text": "a"}).status_code == 200, path


def test_pages_redirect_to_a_trailing_slash(client: Client) -> None:
    assert client.get("/sign-in").headers["Location"] == "/sign-in/"


def test_request_id_is_returned_or_replaced_if_it_is_not_valid(client: Client) -> None:
    for sane in ("0193e0a0-7d51-7c3c-9c50-6d0b3c3f2a11", "a", "run/7:retry=2", "x" * 128):
        answer = client.get("/health", headers={"X-Request-Id": sane})
        assert answer.headers["X-Request-Id"] == sane
    for odd in ("", "x" * 129, 'a"b', "a b", "文", "a\x1b[31m"):
        answer = client.get("/health", headers={"X-Request-Id": odd})
        assert uuid.UUID(answer.headers["X-Request-Id"]).version == 7, odd


def _events(lines: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.getvalue().splitlines()]


@pytest.mark.django_db
def test_request_log_line_omits_content_and_secrets(
    agent: Client, key: tuple[ApiKey, str], lines: io.StringIO
) -> None:
    agent.post(
        "/v1/notes?q=private",
        {"text": "private"},
        content_type="application/json",
        headers={"X-Request-Id": "r-1"},
    )
    (line,) = _events(lines)
    assert line.pop("ms") > 0
    line.pop("time")
    assert line == {
        "event": "request",
        "level": "info",
        "logger": "kmapp.api.middleware",
        "request_id": "r-1",
        "method": "POST",
        "route": "v1/notes",
        "status": 201,
        "account": str(key[0].account_id),
        "key": str(key[0].pk),
    }
    assert "private" not in lines.getvalue()
    assert key[1] not in lines.getvalue()


@pytest.mark.django_db
def test_unexpected_error_is_logged_without_its_message(agent: Client, lines: io.StringIO) -> None:
    agent.raise_request_exception = False
    agent.post(
        "/v1/broken?secret",
        {"mode": "bug"},
        content_type="application/json",
        headers={"X-Request-Id": "r-2"},
    )
    bug, request = _events(lines)
    assert (bug["event"], bug["request_id"]) == ("Internal Server Error: v1/broken", "r-2")
    assert bug["errors"][0]["type"] == "builtins.RuntimeError"
    assert "api_views.py" in bug["errors"][0]["at"][-1]
    assert request["status"] == 500
    assert "secret" not in lines.getvalue()


def test_handled_error_is_logged_with_its_type_and_place(lines: io.StringIO) -> None:
    try:
        raise RuntimeError("private")
    except RuntimeError:
        structlog.get_logger("kmapp").exception("account_not_served")
    (line,) = _events(lines)
    assert (line["event"], line["errors"][0]["type"]) == (
        "account_not_served",
        "builtins.RuntimeError",
    )
    assert "test_api_middleware.py" in line["errors"][0]["at"][-1]
    assert "private" not in lines.getvalue()


def test_third_party_loggers_use_the_same_format(lines: io.StringIO) -> None:
    logging.getLogger("celery.worker").warning("lost %s", "something")
    (line,) = _events(lines)
    assert (line["event"], line["logger"], line["level"]) == (
        "lost something",
        "celery.worker",
        "warning",
    )
