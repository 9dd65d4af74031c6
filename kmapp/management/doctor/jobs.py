"""Processes without a port, and the queue of jobs."""

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings

from kmapp.api.metrics_endpoint import load_outbox_depth
from kmapp.management.doctor.registry import DoctorFinding, check, error, ok, warning
from kmapp.management.doctor.storage import format_age
from kmapp.outbox.heartbeats import get_heartbeat_age
from kmapp.providers import chat

QUEUE_WARNING, QUEUE_ERROR = 300.0, 3600.0  # seconds that a job has waited


@check("processes", needs="valkey")
def check_processes() -> Iterator[DoctorFinding]:
    """Look for heartbeats of at least one worker and one scheduler."""
    seconds = {name: get_heartbeat_age(name) for name in ("worker", "scheduler")}
    silent = [name for name, age in seconds.items() if age is None]
    for name in silent:
        process = "beat" if name == "scheduler" else name
        yield error(f"no {name} has reported for a minute", f"Start {process}; see its log.")
    if not silent:
        yield ok(", ".join(f"{name} seen {age} s ago" for name, age in seconds.items()))


@check("queue", needs="migrations")
def check_queue() -> Iterator[DoctorFinding]:
    rows = load_outbox_depth()
    failed = sum(dead for *_, dead, _ in rows)
    if failed:
        yield warning(
            f"{failed} jobs failed permanently",
            f"See Operations or {settings.COMMAND} outbox list, remove the cause and retry them.",
        )
    seconds, handler = max(((age, name) for name, *_, age in rows), default=(0.0, ""))
    if seconds >= QUEUE_WARNING:
        remedy = "See Operations and the worker's log; more workers help against a long queue."
        if not chat.is_configured():
            remedy += " Jobs that need a chat model wait until CHAT_MODEL is set."
        finding = error if seconds >= QUEUE_ERROR and chat.is_configured() else warning
        age = format_age(timedelta(seconds=seconds))
        yield finding(f"the oldest job has waited {age} for {handler}", remedy)
    elif not failed:
        waiting = sum(waiting for _, waiting, *_ in rows)
        yield ok(f"{waiting} jobs wait")
