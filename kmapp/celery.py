"""The Celery app. Messages only wake workers; pending work is in the outbox."""

import os
from typing import Any

import structlog
from celery import Celery
from celery.signals import (
    beat_init,
    setup_logging,
    task_postrun,
    task_prerun,
    worker_process_init,
    worker_process_shutdown,
    worker_ready,
)

from kmapp.runtime import tracing
from kmapp.runtime.readiness_file import announce_ready

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kmapp.settings")

app = Celery("kmapp")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(
    [
        "kmapp.api",
        "kmapp.outbox",
        "kmapp.ledger",
        "kmapp.notifications",
        "kmapp.search",
        "kmapp.web",
    ]
)
app.autodiscover_tasks(["memory", "knowledge", "rules", "context"], related_name="jobs.tasks")


@setup_logging.connect
def keep_django_logging(**_kwargs: Any) -> None:
    """Do nothing: with a receiver, Celery does not replace Django's logging."""


@worker_process_init.connect
def start_tracing(**_kwargs: Any) -> None:
    tracing.start("worker")


@worker_process_shutdown.connect
def stop_tracing(**_kwargs: Any) -> None:
    tracing.stop()


@worker_ready.connect
def announce_worker(**_kwargs: Any) -> None:
    announce_ready()


@worker_ready.connect
def start_consumer_watchdog(sender: Any, **_kwargs: Any) -> None:
    from kmapp.outbox import consumer_watchdog  # noqa: PLC0415 - settings are there by now

    consumer_watchdog.start_watchdog(
        [*sender.app.amqp.queues.consume_from],
        lambda: consumer_watchdog.list_pool_processes(sender),
    )


@beat_init.connect
def start_ledger_threads(**_kwargs: Any) -> None:
    from kmapp.ledger.checkpoint_copy_thread import start_copy_threads  # noqa: PLC0415
    from kmapp.ledger.checkpoint_thread import start_checkpoint_thread  # noqa: PLC0415 - as above

    start_copy_threads()  # first, so that nothing is signed that a copy contradicts
    start_checkpoint_thread()


@task_prerun.connect
def bind_task_context(task_id: str, task: Any, **_kwargs: Any) -> None:
    structlog.contextvars.bind_contextvars(task=task.name, task_id=task_id)


@task_postrun.connect
def clear_task_context(**_kwargs: Any) -> None:
    structlog.contextvars.clear_contextvars()
