"""Cache backend over Valkey that treats an unreachable server as a cache miss and logs it."""

import json
from collections.abc import Callable
from functools import wraps
from time import monotonic
from typing import Any, TypeVar, cast

import structlog
from django.core.cache import cache
from django.core.cache.backends.redis import RedisCache
from prometheus_client import Counter
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as ServerGone
from redis.exceptions import RedisError
from redis.retry import Retry

log = structlog.get_logger()

UNREACHABLE = Counter("kmapp_cache_unreachable", "Cache operations without a reachable server.")
CONNECT_SECONDS = 0.5
PAUSE = 1.0  # seconds without a call after a failure, so that a hung server delays few requests
LOG_INTERVAL = 60.0  # seconds between log lines

F = TypeVar("F", bound=Callable[..., Any])


class JsonSerializer:
    """Serializer for plain data; pickle would run code from anyone who can write to the cache."""

    def dumps(self, value: Any) -> int | bytes:
        # Whole numbers stay numbers, so that the server can count with them.
        return value if type(value) is int else json.dumps(value).encode()

    def loads(self, data: bytes) -> Any:
        return json.loads(data)


def _with_fallback(*, answer: Any) -> Callable[[F], F]:
    """Decorate a method to return `answer`, or `answer(...)`, if the server is unreachable."""

    def decorate(method: F) -> F:
        @wraps(method)
        def guarded(self: "ValkeyCache", *args: Any, **kwargs: Any) -> Any:
            fallback = answer(*args, **kwargs) if callable(answer) else answer
            if monotonic() < self.paused_until:
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
    def __init__(self, server: str, params: dict[str, Any]) -> None:
        options = {
            "serializer": JsonSerializer,
            "socket_timeout": CONNECT_SECONDS,
            "socket_connect_timeout": CONNECT_SECONDS,
            # One immediate retry: after a restart of the server the pooled connections are stale.
            "retry": Retry(NoBackoff(), 1, supported_errors=(ServerGone,)),
            **params.get("OPTIONS", {}),
        }
        super().__init__(server, {**params, "OPTIONS": options})
        self.paused_until = 0.0
        self._silent_until = 0.0

    def log_error(self, error: RedisError) -> None:
        UNREACHABLE.inc()
        self.paused_until = monotonic() + PAUSE
        if monotonic() >= self._silent_until:
            self._silent_until = monotonic() + LOG_INTERVAL
            log.warning("cache_unreachable", error=type(error).__name__)

    add = _with_fallback(answer=False)(RedisCache.add)
    get = _with_fallback(answer=lambda key, default=None, version=None: default)(RedisCache.get)
    get_many = _with_fallback(answer=lambda keys, version=None: {})(RedisCache.get_many)
    has_key = _with_fallback(answer=False)(RedisCache.has_key)
    set = _with_fallback(answer=None)(RedisCache.set)
    set_many = _with_fallback(answer=lambda data, *args, **kwargs: list(data))(RedisCache.set_many)
    touch = _with_fallback(answer=False)(RedisCache.touch)
    delete = _with_fallback(answer=False)(RedisCache.delete)
    delete_many = _with_fallback(answer=None)(RedisCache.delete_many)
    clear = _with_fallback(answer=None)(RedisCache.clear)

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """Treat a key that cannot be reached as missing."""
        counted = self._increment(key, delta, version)
        if counted is None:
            raise ValueError(f"Key {key!r} not found.")
        return counted

    @_with_fallback(answer=None)
    def _increment(self, key: str, delta: int, version: int | None) -> int | None:
        return int(super().incr(key, delta, version))

    @_with_fallback(answer=False)
    def ping(self) -> bool:
        return bool(self._cache.get_client(write=True).ping())

    @_with_fallback(answer=None)
    def run(self, script: str, key: str, *args: int | str) -> Any:
        """Run a Lua script on one key atomically. Return None if the server cannot be reached."""
        client = self._cache.get_client(write=True)
        return client.register_script(script)(keys=[self.make_and_validate_key(key)], args=args)


valkey_cache = cast(ValkeyCache, cache)  # Django's default cache, with the methods of its class
