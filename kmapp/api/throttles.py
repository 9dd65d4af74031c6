"""Rate limits per key and bucket: one-minute windows counted atomically in Valkey.

A window opens with its first request, so that a burst gets exactly its limit. If Valkey is
unreachable, requests pass: a refused write would be lost, while an extra one does little harm. Such
requests are counted in `kmapp_throttle_unguarded_total` and logged by the cache. There are two
exceptions: debugging is refused, and attempts to sign in and checks of the ledger on its page are
counted per process.
"""

import math
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network
from threading import Lock
from time import monotonic
from typing import cast

from django.conf import settings
from django.http import HttpRequest
from prometheus_client import Counter
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from kmapp.errors import OverBudget, Unavailable
from kmapp.runtime.cache_backend import valkey_cache

UNGUARDED = Counter(
    "kmapp_throttle_unguarded", "Requests without rate limit because Valkey was unavailable."
)
REFUSED = Counter("kmapp_throttle_refused", "Requests refused for their rate.", ["bucket"])
WINDOW_MS = 60_000
REFUSED_WITHOUT_VALKEY = "debug"
COUNTED_LOCALLY_WITHOUT_VALKEY = ("sign_in", "verify")
RETRY = 5  # seconds
MAX_LOCAL_COUNTS = 10_000  # clients; above this number all counts restart
COUNT = """
local used = redis.call('INCR', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 or left > tonumber(ARGV[1]) then  -- more only if the clock went back
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  left = tonumber(ARGV[1])
end
return {used, left}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The rest of a window after a request."""

    bucket: str
    limit: int
    used: int
    seconds: int  # until the window closes

    def headers(self) -> dict[str, str]:
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(max(0, self.limit - self.used)),
            "X-RateLimit-Reset": str(self.seconds),
        }

    def enforce(self) -> None:
        """Raise OverBudget if the request exceeds the limit."""
        if self.used <= self.limit:
            return
        REFUSED.labels(self.bucket).inc()
        raise OverBudget(
            f"Rate limit of {self.limit} {self.bucket} requests per minute exceeded. Retry in "
            f"{self.seconds} s.",
            code=f"rate_limited_{self.bucket}",
            retry_after=self.seconds,
            details={"bucket": self.bucket, "limit": self.limit},
        )


def count_request(bucket: str, client: str) -> Budget | None:
    """Count a request. Return None if Valkey is unreachable, and the request passes."""
    counted = valkey_cache.run(COUNT, f"throttle:{bucket}:{client}", WINDOW_MS)
    if counted is None and bucket == REFUSED_WITHOUT_VALKEY:
        raise Unavailable(
            "Debug endpoints are unavailable while Valkey is down, because their rate limit "
            "cannot be checked. Try again later.",
            retry_after=RETRY,
        )
    if counted is None and bucket in COUNTED_LOCALLY_WITHOUT_VALKEY:
        counted = _count_in_process(f"{bucket}:{client}")
    if counted is None:
        UNGUARDED.inc()
        return None
    used, left_ms = counted
    return Budget(
        bucket=bucket,
        limit=settings.THROTTLES[bucket],
        used=used,
        seconds=max(1, math.ceil(left_ms / 1000)),
    )


_local_counts: dict[str, tuple[float, int]] = {}  # end of the window, and its number of requests
_lock = Lock()


def _count_in_process(client: str) -> tuple[int, float]:
    """Return the requests of this window in this process, and the milliseconds until it closes."""
    now = 1000 * monotonic()
    with _lock:
        closes, used = _local_counts.get(client, (0.0, 0))
        if closes <= now:
            closes, used = now + WINDOW_MS, 0
        if len(_local_counts) >= MAX_LOCAL_COUNTS:
            _local_counts.clear()
        _local_counts[client] = closes, used + 1
    return used + 1, closes - now


def client_address(request: HttpRequest | Request) -> str:
    """Return the client's address as seen by the outermost of NUM_PROXIES proxies.

    For IPv6 it is the /64 network, because a client controls all addresses of one.
    """
    ident = str(BaseThrottle().get_ident(cast(Request, request)))  # it reads the headers only
    try:
        address = IPv6Address(ident)
    except ValueError:
        return ident
    mapped = address.ipv4_mapped
    return str(mapped or IPv6Network((address, 64), strict=False))
