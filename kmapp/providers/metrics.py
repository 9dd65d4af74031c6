"""Prometheus metrics of providers."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

from opentelemetry.trace import SpanKind
from prometheus_client import Counter, Gauge, Histogram

from kmapp.providers.errors import CircuitOpen, ProviderError
from kmapp.runtime import tracing

SECONDS = Histogram(
    "kmapp_provider_seconds",
    "How long calls to model providers took.",
    ["provider", "kind"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 1.5, 2.5, 5, 15, 60),
)
CALLS = Counter(
    "kmapp_provider_calls",
    "Calls to model providers by how they ended.",
    ["provider", "kind", "outcome"],
)
CIRCUIT_OPEN = Gauge(
    "kmapp_provider_circuit_open",
    "1 while a provider's circuit breaker is open.",
    ["endpoint"],
    multiprocess_mode="livemax",
)
QUERY_CACHE = Counter(
    "kmapp_query_cache",
    "Queries by whether their vector was remembered: hit, miss, or down when the cache is.",
    ["outcome"],
)


@dataclass
class ProviderCall:
    outcome: str = "interrupted"


@contextmanager
def record_call(provider: str, kind: str) -> Iterator[ProviderCall]:
    """Observe the call inside the block. The code of a provider's error is its outcome."""
    call = ProviderCall()
    started = perf_counter()
    try:
        with tracing.span(f"{provider} {kind}", SpanKind.CLIENT):
            yield call
    except ProviderError as error:
        call.outcome = error.code
        raise
    finally:
        CALLS.labels(provider, kind, call.outcome).inc()
        if call.outcome != CircuitOpen.code:  # nothing was sent
            SECONDS.labels(provider, kind).observe(perf_counter() - started)
