"""Circuit breakers per endpoint and process. Open ones are shared through the cache.

pybreaker stores states and counts. Its `CircuitBreaker.call` holds a lock for the whole call, which
would queue every thread behind the slowest, so calls go through `calling()`. That lets all calls
through in the half-open state, so a separate lock admits one probe at a time.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from math import ceil
from time import monotonic
from urllib.parse import urlsplit

import pybreaker
import structlog
from django.conf import settings
from django.core.cache import cache

from kmapp.providers.errors import BadVectors, CircuitOpen, ProviderError, Refused
from kmapp.providers.metrics import CIRCUIT_OPEN

log = structlog.get_logger()

IDLE_SECONDS = 3600.0  # a breaker that was unused for longer is dropped


class _StateListener(pybreaker.CircuitBreakerListener):
    """Logs changes of the state and, if the name is that of an endpoint, shares and counts them."""

    def __init__(self, *, is_shared: bool) -> None:
        self.is_shared = is_shared

    def state_change(
        self,
        cb: pybreaker.CircuitBreaker,
        old_state: pybreaker.CircuitBreakerState | None,
        new_state: pybreaker.CircuitBreakerState,
    ) -> None:
        if old_state and old_state.name != new_state.name:  # a late failure opens it again
            log.warning("circuit_changed", endpoint=cb.name, state=new_state.name)
        if not self.is_shared:
            return
        CIRCUIT_OPEN.labels(cb.name).set(new_state.name != pybreaker.STATE_CLOSED)
        # The key lives for two windows: each failed trial call renews it, and it expires if this
        # process is killed.
        if new_state.name == pybreaker.STATE_OPEN:
            cache.set(_build_cache_key(str(cb.name)), 1, timeout=2 * settings.BREAKER_RESET_SECONDS)
        elif new_state.name == pybreaker.STATE_CLOSED:
            cache.delete(_build_cache_key(str(cb.name)))


class Breaker:
    def __init__(
        self,
        endpoint: str,
        *,
        fail_max: int,
        reset_seconds: float,
        successes: int,
        is_shared: bool = True,
    ) -> None:
        self.is_shared = is_shared
        self.used_at = monotonic()
        self._memory = pybreaker.CircuitMemoryStorage(pybreaker.STATE_CLOSED)
        self._circuit = pybreaker.CircuitBreaker(
            name=endpoint,
            fail_max=fail_max,
            reset_timeout=reset_seconds,
            success_threshold=successes,
            exclude=[_endpoint_is_well],
            listeners=[_StateListener(is_shared=is_shared)],
            state_storage=self._memory,
            throw_new_error_on_trip=False,
        )
        self._probe = threading.Lock()

    @property
    def state(self) -> str:
        """Return "closed", "open" or "half-open"."""
        return self._memory.state

    @property
    def reported_state(self) -> str:
        """Return the state for people: a circuit that admits a trial call is no longer open."""
        is_over = self.state == pybreaker.STATE_OPEN and self._compute_seconds_left() <= 0
        return pybreaker.STATE_HALF_OPEN if is_over else self.state

    def is_idle(self) -> bool:
        """Return whether it was unused for so long that an open circuit admits a trial call."""
        return monotonic() - self.used_at > max(IDLE_SECONDS, self._circuit.reset_timeout)

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Let a call through and record its result, or raise CircuitOpen at once."""
        self._limit_opened_at()
        with self._admit_call():
            try:
                with self._circuit.calling():
                    yield
            except pybreaker.CircuitBreakerError as error:
                raise self._build_circuit_open() from error

    @contextmanager
    def _admit_call(self) -> Iterator[None]:
        if self.state == pybreaker.STATE_CLOSED:
            yield
        elif self._probe.acquire(blocking=False):
            try:
                yield
            finally:
                self._probe.release()
        else:
            raise self._build_circuit_open()

    def _limit_opened_at(self) -> None:
        """Set the opening time to now if it is in the future because the clock went back."""
        now = datetime.now(UTC)
        if self._memory.opened_at and self._memory.opened_at > now:
            self._memory.opened_at = now

    def _compute_seconds_left(self) -> float:
        """Return the seconds until an open circuit admits a trial call."""
        left = float(self._circuit.reset_timeout)
        if self._memory.opened_at:
            left -= (datetime.now(UTC) - self._memory.opened_at).total_seconds()
        return left

    def _build_circuit_open(self) -> CircuitOpen:
        left = max(self._compute_seconds_left(), 1.0)
        return CircuitOpen(
            f"{self._circuit.name} failed repeatedly. It is called again in {ceil(left)} s.",
            retry_after=left,
        )


def _endpoint_is_well(error: BaseException) -> bool:
    """Return whether the cause of the error is this product or one text, not the endpoint."""
    return not isinstance(error, ProviderError) or isinstance(error, Refused | BadVectors)


_breakers: dict[str, Breaker] = {}


def get_breaker(base_url: str, *, is_shared: bool = True) -> Breaker:
    """Return the breaker of this process for an endpoint.

    The metric and the cache have one state for all URLs of a host, so the breaker of an endpoint
    that one account configured must not be shared.
    """
    breaker = _breakers.get(base_url)
    if breaker is None:
        _drop_idle_breakers()
        breaker = _breakers.setdefault(
            base_url,
            Breaker(
                parse_endpoint(base_url),
                fail_max=settings.BREAKER_FAIL_MAX,
                reset_seconds=settings.BREAKER_RESET_SECONDS,
                successes=settings.BREAKER_SUCCESSES,
                is_shared=is_shared,
            ),
        )
    breaker.used_at = monotonic()
    return breaker


def _drop_idle_breakers() -> None:
    """Remove unused breakers, because each account has its own and a process may serve many."""
    for base_url, breaker in _breakers.copy().items():
        if breaker.is_idle():
            _breakers.pop(base_url, None)
            if breaker.is_shared and breaker.state != pybreaker.STATE_CLOSED:
                CIRCUIT_OPEN.labels(parse_endpoint(base_url)).set(0)


def parse_endpoint(base_url: str) -> str:
    """Return host and port, as the name of an endpoint. It is displayed, so without credentials."""
    parts = urlsplit(base_url)
    return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)


def _build_cache_key(endpoint: str) -> str:
    return f"circuit-open:{endpoint}"


def get_state(base_url: str) -> str:
    """Return the state of an endpoint's circuit: open if it is open in any process."""
    if cache.get(_build_cache_key(parse_endpoint(base_url))):
        return pybreaker.STATE_OPEN
    breaker = _breakers.get(base_url)
    return breaker.reported_state if breaker else pybreaker.STATE_CLOSED


def clear_breakers() -> None:
    cache.delete_many([_build_cache_key(parse_endpoint(url)) for url in _breakers])
    _breakers.clear()
