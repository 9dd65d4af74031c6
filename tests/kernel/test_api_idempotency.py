"""Idempotency-Key: the first response is repeated, and nothing happens twice."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client, override_settings
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.api import idempotency
from kmapp.api.idempotency import delete_expired_responses
from kmapp.api.models import IdempotentRequest
from tests import makers
from tests.kernel.api_views import Broken
from tests.race import TIMEOUT_SECONDS, run_on_own_connection, wait_until_blocked

pytestmark = pytest.mark.urls("tests.kernel.api_views")
db = pytest.mark.django_db
TABLE = IdempotentRequest._meta.db_table


def _post(client: Client, path: str, body: dict[str, Any], key: str = "one") -> Any:
    headers = {"Idempotency-Key": key}
    return client.post(path, body, content_type="application/json", headers=headers)


@db
def test_repeated_key_replays_the_first_response(agent: Client) -> None:
    first = _post(agent, "/v1/notes", {"text": "a", "metadata": {"b": 1.0, "a": "文"}})
    again = _post(agent, "/v1/notes/", {"metadata": {"a": "文", "b": 1.0}, "text": "a"})
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    assert again.headers["Content-Type"] == first.headers["Content-Type"]
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"


@db
def test_replay_has_the_warnings_of_the_first_response(agent: Client) -> None:
    first = _post(agent, "/v1/notes", {"text": "a", "colour": "red"})
    assert [each["path"] for each in first.json()["warnings"]] == ["colour"]
    assert _post(agent, "/v1/notes", {"text": "a", "colour": "red"}).content == first.content


@db
def test_request_without_a_key_is_repeated(agent: Client) -> None:
    answers = [
        agent.post("/v1/notes", {"text": "a"}, content_type="application/json") for _ in "ab"
    ]
    assert answers[0].json()["id"] != answers[1].json()["id"]


@db
def test_different_request_with_the_same_key_returns_409(agent: Client, acme: Account) -> None:
    _post(agent, "/v1/notes", {"text": "a"})
    for path, text in (("/v1/notes", "b"), ("/v1/rename", "a")):
        answer = _post(agent, path, {"text": text})
        assert (answer.status_code, answer.json()["error"]) == (409, "idempotency_mismatch"), path
    assert makers.get(Account, acme).name == "Acme"


@db
def test_key_is_found_after_secret_key_rotation(agent: Client) -> None:
    first = _post(agent, "/v1/notes", {"text": "a"})
    with override_settings(SECRET_KEY="new", SECRET_KEY_FALLBACKS=[settings.SECRET_KEY]):
        assert _post(agent, "/v1/notes", {"text": "a"}).json() == first.json()


@db
def test_invalid_idempotency_keys_return_400(agent: Client) -> None:
    for word in ("", " ", "a b", "a" * 256, "ключ", "a\x7f"):
        answer = _post(agent, "/v1/notes", {"text": "a"}, word)
        assert answer.status_code == 400, word
        assert answer.json()["issues"][0]["path"] == "Idempotency-Key", word


@db
def test_keys_are_scoped_to_the_api_key(agent: Client, acme: Account, rival: Account) -> None:
    own = _post(agent, "/v1/notes", {"text": "a"}).json()
    for other in (acme, rival):
        client = Client(headers={"X-Api-Key": makers.key(other)[1]})
        answer = _post(client, "/v1/notes", {"text": "b"})
        assert answer.status_code == 201
        assert answer.json()["id"] != own["id"]


@db
def test_client_errors_are_replayed(agent: Client) -> None:
    Broken.modes.clear()
    first = _post(agent, "/v1/broken", {"mode": "gone"})
    again = _post(agent, "/v1/broken", {"mode": "gone"})
    assert (first.status_code, again.status_code) == (410, 410)
    assert again.json() == first.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert Broken.modes == ["gone"]


@db
def test_server_errors_are_not_stored(agent: Client) -> None:
    agent.raise_request_exception = False
    Broken.modes.clear()
    for mode in ("unavailable", "slow", "bug"):
        for _ in range(2):
            assert _post(agent, "/v1/broken", {"mode": mode}, mode).status_code >= 500, mode
    assert Broken.modes == ["unavailable"] * 2 + ["slow"] * 2 + ["bug"] * 2


@db
def test_key_in_flight_returns_409_until_its_lease_expires(agent: Client, acme: Account) -> None:
    _post(agent, "/v1/rename", {})
    soon = timezone.now() + timedelta(seconds=30)
    makers.update(IdempotentRequest, acme, {}, state="in_flight", status=None, lease_until=soon)
    answer = _post(agent, "/v1/rename", {})
    assert (answer.status_code, answer.json()["error"]) == (409, "idempotency_in_flight")
    assert 28 <= int(answer.headers["Retry-After"]) <= 30
    just_now = timezone.now() + timedelta(seconds=59)
    makers.update(IdempotentRequest, acme, {}, lease_until=just_now)
    assert _post(agent, "/v1/rename", {}).headers["Retry-After"] == "1"
    assert makers.get(Account, acme).name == "Acme!"
    makers.update(IdempotentRequest, acme, {}, lease_until=timezone.now() - timedelta(seconds=1))
    answer = _post(agent, "/v1/rename", {})
    assert (answer.status_code, answer.json()["name"]) == (200, "Acme!!")
    assert makers.get(IdempotentRequest, acme).state == "done"


@db
def test_response_and_change_are_rolled_back_together(agent: Client, acme: Account) -> None:
    answer = _post(agent, "/v1/rename", {"late": True})
    assert (answer.status_code, answer.json()["error"]) == (409, "too_late")
    assert makers.get(Account, acme).name == "Acme"
    assert _post(agent, "/v1/rename", {"late": True}).json() == answer.json()


@db
def test_request_with_an_expired_lease_changes_nothing(
    agent: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request took longer than its lease, and a retry did its work in the meantime."""
    once = idempotency.run_once

    def slow(hold: Any, handler: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        monkeypatch.setattr(idempotency, "run_once", once)
        makers.update(
            IdempotentRequest, acme, {}, lease_until=timezone.now() - timedelta(seconds=1)
        )
        assert _post(agent, "/v1/rename", {}).json()["name"] == "Acme!"
        return once(hold, handler, *args, **kwargs)

    monkeypatch.setattr(idempotency, "run_once", slow)
    late = _post(agent, "/v1/rename", {})
    assert (late.status_code, late.json()["error"]) == (409, "idempotency_in_flight")
    assert makers.get(Account, acme).name == "Acme!"
    assert _post(agent, "/v1/rename", {}).json()["name"] == "Acme!"


def test_concurrent_requests_with_one_key_run_once(
    module_commits: None, agent: Client, acme: Account
) -> None:
    barrier = threading.Barrier(20)

    def send(_number: int) -> int:
        barrier.wait()
        try:
            return int(_post(agent, "/v1/rename", {}).status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(20) as pool:
        answers = Counter(pool.map(send, range(20)))
    assert set(answers) <= {200, 409}
    assert answers[200] >= 1
    assert makers.get(Account, acme).name == "Acme!"
    assert _post(agent, "/v1/rename", {}).headers["Idempotent-Replayed"] == "true"


def test_key_released_during_the_request_returns_409(
    module_commits: None, agent: Client, acme: Account
) -> None:
    """The first request fails while the second one waits for its row."""
    _post(agent, "/v1/rename", {})
    soon = timezone.now() + timedelta(seconds=30)
    makers.update(IdempotentRequest, acme, {}, state="in_flight", status=None, lease_until=soon)
    released: list[Future[None]] = []

    def release() -> None:
        with acting(acme):
            IdempotentRequest.objects.of(acme).delete()

    def meanwhile(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("SELECT") and TABLE in sql and not released:
            released.append(pool.submit(run_on_own_connection, release))
            wait_until_blocked(released[0])
        return execute(sql, *rest)

    with ThreadPoolExecutor(1) as pool:
        with connection.execute_wrapper(meanwhile):
            answer = _post(agent, "/v1/rename", {})
        released[0].result(TIMEOUT_SECONDS)
    assert (answer.status_code, answer.json()["error"]) == (409, "idempotency_in_flight")
    assert _post(agent, "/v1/rename", {}).status_code == 200


@db
def test_erased_response_returns_410(agent: Client, acme: Account) -> None:
    note = _post(agent, "/v1/notes", {"text": "my secret"}).json()
    other = _post(agent, "/v1/notes", {"text": "my other"}, key="two").json()
    with acting(acme):
        assert IdempotentRequest.objects.of(acme).naming([note["id"]]).erase_responses() == 1
        rows = IdempotentRequest.objects.of(acme)
        row = rows.get(idempotency_key="one")
        assert (row.answer, row.fingerprint, row.object_ids) == ("", "", [])
    answer = _post(agent, "/v1/notes", {"text": "my secret"})
    assert (answer.status_code, answer.json()["error"]) == (410, "idempotency_forgotten")
    assert _post(agent, "/v1/notes", {"text": "my other"}, key="two").json() == other


@db
def test_responses_expire_after_24_hours(agent: Client, acme: Account) -> None:
    first = _post(agent, "/v1/notes", {"text": "a"}).json()
    lifetime = makers.get(IdempotentRequest, acme).expires_at - timezone.now()
    assert timedelta(hours=23, minutes=59) < lifetime <= timedelta(hours=24)
    makers.update(IdempotentRequest, acme, {}, expires_at=timezone.now() - timedelta(seconds=1))
    assert _post(agent, "/v1/notes", {"text": "b"}).json()["id"] != first["id"]
    assert delete_expired_responses() == 0
    makers.update(IdempotentRequest, acme, {}, expires_at=timezone.now() - timedelta(seconds=1))
    assert delete_expired_responses() == 1


@db
def test_fingerprints_differ_between_accounts(acme: Account, rival: Account) -> None:
    """Otherwise one account could compare its requests with those of another."""
    for account in (acme, rival):
        client = Client(headers={"X-Api-Key": makers.key(account)[1]})
        _post(client, "/v1/notes", {"text": "a"})
    assert (
        makers.get(IdempotentRequest, acme).fingerprint
        != makers.get(IdempotentRequest, rival).fingerprint
    )
