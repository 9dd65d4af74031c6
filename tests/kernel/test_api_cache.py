"""The cache treats an unreachable server as a miss."""

import time
from typing import Any

import pytest
from structlog.testing import capture_logs

from kmapp.runtime.cache_backend import UNREACHABLE, ValkeyCache
from kmapp.runtime.embedded import get_valkey_socket

NOWHERE = "unix:///tmp/no-such-kmapp-valkey.sock"


@pytest.fixture
def reachable(settings: Any) -> ValkeyCache:
    url = f"unix://{get_valkey_socket(settings.DATA_DIR)}"
    return ValkeyCache(url, {"KEY_PREFIX": "test-cache"})


@pytest.fixture
def unreachable() -> ValkeyCache:
    return ValkeyCache(NOWHERE, {})


@pytest.mark.parametrize(
    "value", [1, True, 0.5, "1", "文", None, [0.1, 2], {"a": [None]}], ids=repr
)
def test_cache_returns_stored_json_values(reachable: ValkeyCache, value: Any) -> None:
    reachable.set("thing", value)
    results = reachable.get("thing", "nothing")
    assert results == value
    assert type(results) is type(value)


def test_set_rejects_values_that_are_not_json(reachable: ValkeyCache) -> None:
    with pytest.raises(TypeError):
        reachable.set("thing", object())


def test_unreachable_server_is_a_cache_miss(unreachable: ValkeyCache) -> None:
    assert unreachable.get("a", "missed") == "missed"
    assert unreachable.get_many(["a"]) == {}
    assert unreachable.set_many({"a": 1}) == ["a"]
    assert not unreachable.add("a", 1)
    assert not unreachable.delete("a")
    assert not unreachable.has_key("a")
    assert not unreachable.touch("a")
    assert not unreachable.ping()
    assert unreachable.run("return 1", "a") is None
    assert unreachable.get_or_set("a", lambda: 7) == 7
    unreachable.set("a", 1)
    unreachable.delete_many(["a"])
    unreachable.clear()
    with pytest.raises(ValueError, match="not found"):
        unreachable.incr("a")


def test_unreachable_server_is_logged_once_and_counted_each_time(unreachable: ValkeyCache) -> None:
    before = UNREACHABLE._value.get()  # noqa: SLF001
    with capture_logs() as logs:
        for _ in range(5):
            unreachable.get("a")
            unreachable.paused_until = 0.0
    assert [line["event"] for line in logs] == ["cache_unreachable"]
    assert UNREACHABLE._value.get() == before + 5  # noqa: SLF001


def test_cache_pauses_after_a_failure(unreachable: ValkeyCache) -> None:
    unreachable.get("a")
    assert unreachable.paused_until > time.monotonic()
    until = unreachable.paused_until
    unreachable.get("a")
    assert unreachable.paused_until == until  # the server was not asked again
