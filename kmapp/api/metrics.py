"""Prometheus metrics of the API."""

from prometheus_client import Histogram

REQUEST_SECONDS = Histogram(
    "kmapp_request_seconds",
    "How long requests took, by route and status.",
    ["method", "route", "status"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 15),
)
