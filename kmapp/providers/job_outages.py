"""Outages of endpoints that jobs call, shared by all processes.

Such calls have no circuit breaker, because the outbox backs off, so their failures are recorded
here.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from django.core.cache import cache

from kmapp.providers.breaker import parse_endpoint
from kmapp.providers.errors import ProviderError

GRACE_SECONDS = 30.0  # a shorter outage is not reported, because the jobs are retried
EXPIRY_SECONDS = 1_200  # after the last failure; longer than any delay before a retry of a job


@contextmanager
def record_outage(base_url: str) -> Iterator[None]:
    """Record since when the blocks for this endpoint have failed, until one of them succeeds."""
    key = _build_cache_key(base_url)
    try:
        yield
    except ProviderError:
        if not cache.add(key, time.time(), EXPIRY_SECONDS):
            cache.touch(key, EXPIRY_SECONDS)
        raise
    cache.delete(key)


def find_outage(base_url: str) -> datetime | None:
    """Return since when all calls of jobs to an endpoint have failed, or None."""
    since = cache.get(_build_cache_key(base_url))
    if since is None or time.time() - since < GRACE_SECONDS:
        return None
    return datetime.fromtimestamp(since, UTC)


def _build_cache_key(base_url: str) -> str:
    return f"job-outage:{parse_endpoint(base_url)}"
