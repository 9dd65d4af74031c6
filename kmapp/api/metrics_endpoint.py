"""GET /metrics: counters of all processes of this host, and the depth of the outbox."""

import hmac
import os
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    generate_latest,
    multiprocess,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from rest_framework.request import Request

from kmapp.accounts.scopes import Scope
from kmapp.api.views import AgentView
from kmapp.database.raw_sql import fetch_all
from kmapp.outbox.registry import get_subscription

log = structlog.get_logger()


class OutboxCollector(Collector):
    """Collector of the outbox of all accounts; it queries the database at each scrape."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield depth by state, age of the oldest job by handler, and embedding lag."""
        depth = GaugeMetricFamily(
            "kmapp_outbox_deliveries", "Deliveries not done.", labels=["handler", "state"]
        )
        oldest = GaugeMetricFamily(
            "kmapp_outbox_oldest_seconds", "Age of the oldest pending delivery.", labels=["handler"]
        )
        lag: dict[str, float] = defaultdict(float, embedding=0)
        for handler, waiting, running, dead, seconds in load_outbox_depth():
            for state, number in (("waiting", waiting), ("running", running), ("dead", dead)):
                depth.add_metric([handler, state], number)
            oldest.add_metric([handler], seconds)
            registered = get_subscription(handler)
            if registered:
                lag[registered.queue] = max(lag[registered.queue], seconds)
        yield depth
        yield oldest
        yield GaugeMetricFamily(
            "kmapp_embedding_lag_seconds",
            "How long the oldest text has waited for its vector.",
            value=lag["embedding"],
        )


def load_outbox_depth() -> list[tuple[str, int, int, int, float]]:
    """Return (handler, waiting, running, failed, seconds of the oldest) of all accounts."""
    try:
        return fetch_all("SELECT * FROM outbox_depth()")
    except DatabaseError as error:
        # The other metrics are needed most when the database is unavailable.
        log.warning("outbox_not_measured", error=type(error).__name__)
        return []


def build_registry() -> CollectorRegistry:
    """Return a registry with the metrics of all of this host's processes."""
    registry = CollectorRegistry()
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry.register(REGISTRY)
    return registry


def render_metrics() -> bytes:
    """Return the metrics in Prometheus' text format."""
    registry = build_registry()
    registry.register(OutboxCollector())
    return generate_latest(registry)


@extend_schema(exclude=True)
class Metrics(AgentView):
    """Return metrics for Prometheus, to an admin key or METRICS_TOKEN as a bearer token."""

    scopes = {"GET": Scope.ADMIN}
    bucket = "debug"

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Allow the metrics token on this endpoint only."""
        if not _has_token(request):
            super().initial(request, *args, **kwargs)

    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(render_metrics(), content_type=CONTENT_TYPE_LATEST)


def _has_token(request: Request) -> bool:
    expected = f"Bearer {settings.METRICS_TOKEN}".encode()
    sent = request.headers.get("Authorization", "").encode()
    return bool(settings.METRICS_TOKEN) and hmac.compare_digest(sent, expected)
