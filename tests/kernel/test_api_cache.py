"""The cache is for what we can do without: a dead server is a miss."""

import time
from typing import Any

import pytest
from structlog.testing import capture_logs

from kmapp.api.cache import UNREACHABLE, ValkeyCache
from kmapp.runtime.embedded import valkey_socket

NOWHERE = "unix:///tmp/no-such-kmapp-valkey.sock"


@pytest.fixture
def living(settings: Any) -> ValkeyCache:
    url = f"unix://{valkey_socket(settings.DATA_DIR)}"
    return ValkeyCache(url, {"KEY_PREFIX": "test-cache"})


@pytest.fixture
def dead() -> ValkeyCache:
    return ValkeyCache(NOWHERE, {})


@pytest.mark.parametrize(
    "value", [1, True, 0.5, "1", "文", None, [0.1, 2], {"a": [None]}], ids=repr
)
def test_plain_data_comes_back_as_it_was(living: ValkeyCache, value: Any) -> None:
    living.set("thing", value)
    found = living.get("thing", "nothing")
    assert found == value
    assert type(found) is type(value)


def test_what_is_no_plain_data_is_a_mistake(living: ValkeyCache) -> None:
    with pytest.raises(TypeError):
        living.set("thing", object())


def test_a_dead_server_is_a_miss(dead: ValkeyCache) -> None:
    assert dead.get("a", "missed") == "missed"
    assert dead.get_many(["a"]) == {}
    assert dead.set_many({"a": 1}) == ["a"]
    assert not dead.add("a", 1)
    assert not dead.delete("a")
    assert not dead.has_key("a")
    assert not dead.touch("a")
    assert not dead.ping()
    assert dead.run("return 1", "a") is None
    assert dead.get_or_set("a", lambda: 7) == 7
    dead.set("a", 1)
    dead.delete_many(["a"])
    dead.clear()
    with pytest.raises(ValueError, match="not found"):
        dead.incr("a")


def test_a_dead_server_is_said_once_and_counted_each_time(dead: ValkeyCache) -> None:
    before = UNREACHABLE._value.get()  # noqa: SLF001
    with capture_logs() as logs:
        for _ in range(5):
            dead.get("a")
            dead.rests_until = 0.0
    assert [line["event"] for line in logs] == ["cache_unreachable"]
    assert UNREACHABLE._value.get() == before + 5  # noqa: SLF001


def test_after_a_failure_the_cache_rests(dead: ValkeyCache) -> None:
    dead.get("a")
    assert dead.rests_until > time.monotonic()
    until = dead.rests_until
    dead.get("a")
    assert dead.rests_until == until  # not asked, so not failed again
