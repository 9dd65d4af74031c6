"""Cache backend over Valkey that treats an unreachable server as a cache miss and logs it."""

import json
from collections.abc import Callable
from functools import wraps
from time import monotonic
from typing import Any, TypeVar

import structlog
from django.core.cache.backends.redis import RedisCache
from prometheus_client import Counter
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as ServerGone
from redis.exceptions import RedisError
from redis.retry import Retry

log = structlog.get_logger()

UNREACHABLE = Counter("kmapp_cache_unreachable", "Cache operations without a reachable server.")
CONNECT_SECONDS = 0.5
REST = 1.0  # seconds without another try after a failure: a hung server must not slow every request
LOG_INTERVAL = 60.0  # seconds between log lines

F = TypeVar("F", bound=Callable[..., Any])


class JsonSerializer:
    """Serializer for plain data; pickle would run code of whoever can write to the cache."""

    def dumps(self, value: Any) -> int | bytes:
        # Whole numbers stay numbers, so that the server can count with them.
        return value if type(value) is int else json.dumps(value).encode()

    def loads(self, data: bytes) -> Any:
        return json.loads(data)


def _or(*, answer: Any) -> Callable[[F], F]:
    """Answer this instead when the server cannot be reached."""

    def decorate(method: F) -> F:
        @wraps(method)
        def guarded(self: "ValkeyCache", *args: Any, **kwargs: Any) -> Any:
            fallback = answer(*args, **kwargs) if callable(answer) else answer
            if monotonic() < self.rests_until:
                UNREACHABLE.inc()
                return fallback
            try:
                return method(self, *args, **kwargs)
            except RedisError as error:
                self.log_error(error)
                return fallback

        return guarded  # type: ignore[return-value]

    return decorate


class ValkeyCache(RedisCache):
    """A cache whose server may be unreachable."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        options = {
            "serializer": JsonSerializer,
            "socket_timeout": CONNECT_SECONDS,
            "socket_connect_timeout": CONNECT_SECONDS,
            # One more try at once: after a restart of the server the pooled connections are stale.
            "retry": Retry(NoBackoff(), 1, supported_errors=(ServerGone,)),
            **params.get("OPTIONS", {}),
        }
        super().__init__(server, {**params, "OPTIONS": options})
        self.rests_until = 0.0
        self._silent_until = 0.0

    def log_error(self, error: RedisError) -> None:
        UNREACHABLE.inc()
        self.rests_until = monotonic() + REST
        if monotonic() >= self._silent_until:
            self._silent_until = monotonic() + LOG_INTERVAL
            log.warning("cache_unreachable", error=type(error).__name__)

    @_or(answer=False)
    def add(self, *args: Any, **kwargs: Any) -> bool:
        return bool(super().add(*args, **kwargs))

    @_or(answer=lambda key, default=None, version=None: default)
    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        return super().get(key, default, version)

    @_or(answer=None)
    def set(self, *args: Any, **kwargs: Any) -> None:
        super().set(*args, **kwargs)

    @_or(answer=False)
    def touch(self, *args: Any, **kwargs: Any) -> bool:
        return bool(super().touch(*args, **kwargs))

    @_or(answer=False)
    def delete(self, *args: Any, **kwargs: Any) -> bool:
        return bool(super().delete(*args, **kwargs))

    @_or(answer=lambda keys, version=None: {})
    def get_many(self, keys: Any, version: int | None = None) -> dict[Any, Any]:
        return dict(super().get_many(keys, version))

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """Treat a key that cannot be reached as missing."""
        counted = self._increment(key, delta, version)
        if counted is None:
            raise ValueError(f"Key {key!r} not found.")
        return counted

    @_or(answer=None)
    def _increment(self, key: str, delta: int, version: int | None) -> int | None:
        return int(super().incr(key, delta, version))

    @_or(answer=lambda data, *args, **kwargs: list(data))
    def set_many(self, data: Any, *args: Any, **kwargs: Any) -> list[Any]:
        return list(super().set_many(data, *args, **kwargs))

    @_or(answer=None)
    def delete_many(self, *args: Any, **kwargs: Any) -> None:
        super().delete_many(*args, **kwargs)

    @_or(answer=False)
    def has_key(self, *args: Any, **kwargs: Any) -> bool:
        return bool(super().has_key(*args, **kwargs))

    @_or(answer=None)
    def clear(self) -> None:
        super().clear()

    @_or(answer=False)
    def ping(self) -> bool:
        """Return whether the server responds."""
        return bool(self._cache.get_client(write=True).ping())

    @_or(answer=None)
    def run(self, script: str, key: str, *args: int | str) -> Any:
        """Run a Lua script on one key atomically. Return None if the server cannot be reached."""
        client = self._cache.get_client(write=True)
        return client.register_script(script)(keys=[self.make_and_validate_key(key)], args=args)
