"""Rate limits are exact for each key and bucket, also for concurrent requests."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client

from kmapp.accounts.models import Account
from kmapp.api.throttles import UNGUARDED, count_request
from kmapp.database.ids import uuid7
from kmapp.errors import Unavailable
from kmapp.runtime.cache_backend import ValkeyCache
from tests import makers

pytestmark = pytest.mark.urls("tests.kernel.api_views")
LIMIT = 10


@pytest.fixture(autouse=True)
def limits(settings: Any) -> Iterator[None]:
    cache.clear()
    settings.THROTTLES = {**settings.THROTTLES, "write": LIMIT, "recall": 2, "anonymous": LIMIT}
    yield
    cache.clear()


def used(bucket: str, client: str) -> int:
    """Count a request; return the number of requests in the window."""
    budget = count_request(bucket, client)
    assert budget
    return budget.used


def _note(client: Client, **headers: str) -> Any:
    return client.post("/v1/notes", {"text": "a"}, content_type="application/json", headers=headers)


@pytest.mark.promise(38)
def test_concurrent_requests_get_exactly_the_limit(committed: str, agent: Client) -> None:
    def send(number: int) -> int:
        try:
            return int(_note(agent, **{"X-Forwarded-For": f"10.0.0.{number}"}).status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(16) as pool:
        assert Counter(pool.map(send, range(100))) == {201: LIMIT, 429: 100 - LIMIT}


@pytest.mark.promise(38)
@pytest.mark.django_db
def test_headers_report_remaining_requests_and_retry_after(agent: Client) -> None:
    for used in range(1, LIMIT + 1):
        answer = _note(agent)
        assert answer.headers["X-RateLimit-Limit"] == str(LIMIT)
        assert answer.headers["X-RateLimit-Remaining"] == str(LIMIT - used)
    answer = _note(agent)
    assert answer.status_code == 429
    assert answer.json()["error"] == "rate_limited_write"
    assert 0 < int(answer.headers["Retry-After"]) <= 60
    assert answer.headers["Retry-After"] == answer.headers["X-RateLimit-Reset"]
    assert answer.headers["X-RateLimit-Remaining"] == "0"


@pytest.mark.promise(38)
@pytest.mark.django_db
def test_keys_and_buckets_are_counted_separately(agent: Client, acme: Account) -> None:
    while _note(agent).status_code == 201:
        pass
    others = [
        agent.post("/v1/broken", {"mode": "gone"}, content_type="application/json")
        for _ in range(3)
    ]
    assert [answer.status_code for answer in others] == [410, 410, 429]
    assert others[-1].json()["error"] == "rate_limited_recall"
    other = makers.key(acme)[1]
    assert _note(Client(), **{"X-Api-Key": other}).status_code == 201


@pytest.mark.promise(38)
@pytest.mark.django_db
@pytest.mark.parametrize(("proxies", "passed"), [(0, LIMIT), (1, 2 * LIMIT)])
def test_anonymous_requests_are_counted_by_proxied_address(
    client: Client, monkeypatch: pytest.MonkeyPatch, proxies: int, passed: int
) -> None:
    """Only the last NUM_PROXIES addresses of X-Forwarded-For come from proxies."""
    from rest_framework.settings import api_settings

    monkeypatch.setattr(api_settings, "NUM_PROXIES", proxies)
    forwarded = [f"6.6.6.{number}, 10.0.0.{number % 2}" for number in range(2 * LIMIT + 4)]
    answers = [_note(client, **{"X-Forwarded-For": each}).status_code for each in forwarded]
    assert Counter(answers) == {401: passed, 429: len(forwarded) - passed}


@pytest.mark.django_db
def test_window_starts_with_the_first_request_and_expires() -> None:
    who = str(uuid7())
    assert used("write", who) == 1
    expiry = cast(ValkeyCache, cache)
    key = f"throttle:write:{who}"
    assert expiry.run("return redis.call('PEXPIRE', KEYS[1], 30000)", key)
    assert used("write", who) == 2
    assert expiry.run("return redis.call('PTTL', KEYS[1])", key) <= 30_000
    assert expiry.run("return redis.call('PEXPIRE', KEYS[1], 0)", key)
    assert used("write", who) == 1


@pytest.mark.promise(38)
@pytest.mark.django_db
def test_without_valkey_requests_pass_and_are_counted(agent: Client, without_valkey: None) -> None:
    before = UNGUARDED._value.get()  # noqa: SLF001
    answers = [_note(agent) for _ in range(LIMIT + 3)]
    assert {answer.status_code for answer in answers} == {201}
    assert "X-RateLimit-Limit" not in answers[0].headers
    assert UNGUARDED._value.get() == before + LIMIT + 3  # noqa: SLF001


@pytest.mark.promise(38)
def test_without_valkey_debug_requests_are_unavailable(without_valkey: None) -> None:
    with pytest.raises(Unavailable) as refused:
        count_request("debug", str(uuid7()))
    assert refused.value.retry_after > 0


@pytest.mark.promise(38)
def test_without_valkey_sign_ins_are_counted_per_process(
    without_valkey: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_000.0
    monkeypatch.setattr("kmapp.api.throttles.monotonic", lambda: now)
    address, other_address = str(uuid7()), str(uuid7())
    assert [used("sign_in", address) for _ in range(3)] == [1, 2, 3]
    assert used("sign_in", other_address) == 1
    now += 60
    assert used("sign_in", address) == 1


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/v1/notes", "/v1/health"])
def test_failed_authentication_is_throttled(client: Client, path: str) -> None:
    wrong = {"Authorization": "Bearer km_aaaaaaaaaa_bbbbbbbbbbbbbbbbbbbbbbbbbbbb"}
    statuses = [client.get(path, headers=wrong).status_code for _ in range(LIMIT + 1)]
    assert statuses == [401] * LIMIT + [429]


@pytest.mark.django_db
def test_ipv6_addresses_are_throttled_by_network(client: Client) -> None:
    def status(address: str) -> int:
        return client.get("/v1/notes", REMOTE_ADDR=address).status_code

    assert [status(f"2001:db8::{number}") for number in range(1, LIMIT + 2)][-1] == 429
    assert status("2001:db8:0:1::1") == 401
    assert [status("::ffff:192.0.2.1"), status("192.0.2.1")] == [401, 401]
