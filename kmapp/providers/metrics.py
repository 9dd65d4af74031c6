"""What the providers cost in time and how they fail, for Prometheus."""

from prometheus_client import Counter, Gauge, Histogram

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
    "1 while a provider is left alone because it kept failing.",
    ["endpoint"],
    multiprocess_mode="livemax",
)


def observe(provider: str, kind: str, seconds: float, outcome: str) -> None:
    """One call ended: `outcome` is "ok" or the code of the error."""
    SECONDS.labels(provider, kind).observe(seconds)
    CALLS.labels(provider, kind, outcome).inc()
