"""Samples of the whole installation: queue, throughput, providers, requests, host, database.

A periodic task takes one each minute. Counters are stored as they are and turned into rates when
they are read. A restart resets them, so what was counted since the last sample is lost.
"""

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path

from django.utils import timezone

from kmapp.api.metrics_endpoint import build_registry, load_outbox_depth
from kmapp.database.raw_sql import fetch_all
from kmapp.database.steady_clock import SteadyTime
from kmapp.web.models import SystemSample

RETENTION = timedelta(days=31)
MEGABYTE = 1_000_000
Labels = Mapping[str, str]
# Counters of this host's processes: the name of a value, the metric, and the samples that count.
COUNTERS: Mapping[str, tuple[str, Callable[[Labels], bool]]] = {
    "jobs_done": ("kmapp_deliveries_total", lambda labels: labels["outcome"] == "done"),
    "jobs_failed": ("kmapp_deliveries_total", lambda labels: labels["outcome"] == "failed"),
    "embedding_calls": (
        "kmapp_provider_seconds_count",
        lambda labels: labels["provider"] == "embedding",
    ),
    "embedding_seconds": (
        "kmapp_provider_seconds_sum",
        lambda labels: labels["provider"] == "embedding",
    ),
    "provider_errors": ("kmapp_provider_calls_total", lambda labels: labels["outcome"] != "ok"),
    "requests": ("kmapp_request_seconds_count", lambda _labels: True),
    "request_seconds": ("kmapp_request_seconds_sum", lambda _labels: True),
    "server_errors": ("kmapp_request_seconds_count", lambda labels: labels["status"] >= "500"),
}


def take_sample() -> SystemSample:
    """Store the present values, and delete samples that are older than the retention."""
    now = timezone.now()
    SystemSample.objects.filter(created_at__lt=SteadyTime() - RETENTION).delete()
    values = {
        **_count_all(),
        **_measure_queue(),
        **_measure_host(),
        **_measure_database(),
    }
    return SystemSample.objects.create(
        created_at=now,
        host=socket.gethostname(),
        values={k: round(v, 3) for k, v in values.items()},
    )


def _count_all() -> dict[str, float]:
    samples = [sample for metric in build_registry().collect() for sample in metric.samples]
    return {
        name: sum(
            sample.value for sample in samples if sample.name == metric and counts(sample.labels)
        )
        for name, (metric, counts) in COUNTERS.items()
    }


def _measure_queue() -> dict[str, float]:
    rows = load_outbox_depth()
    return {
        "jobs_waiting": sum(waiting for _, waiting, _, _, _ in rows),
        "jobs_running": sum(running for _, _, running, _, _ in rows),
        "oldest_job_seconds": max((seconds for *_, seconds in rows), default=0),
    }


def _measure_host() -> dict[str, float]:
    memory = dict(_read_memory())
    return {
        "load": os.getloadavg()[0],
        "memory_used_percent": 100 * (1 - memory["MemAvailable"] / memory["MemTotal"])
        if memory
        else 0,
    }


def _read_memory() -> Iterator[tuple[str, float]]:
    """Yield the values of /proc/meminfo in kilobytes; nothing on systems without it."""
    path = Path("/proc/meminfo")
    if path.exists():
        for line in path.read_text().splitlines():
            name, _, rest = line.partition(":")
            yield name, float(rest.split()[0])


def _measure_database() -> dict[str, float]:
    """Return the size of the database and of its indexes."""
    [(database, indexes)] = fetch_all(
        "SELECT pg_database_size(current_database()), (SELECT coalesce(sum(pg_relation_size("
        "indexrelid)), 0) FROM pg_index)"
    )
    return {"database_megabytes": database / MEGABYTE, "index_megabytes": float(indexes) / MEGABYTE}
