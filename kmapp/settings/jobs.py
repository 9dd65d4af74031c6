"""Celery, the schedule of periodic tasks, and the outbox."""

from datetime import timedelta
from typing import Any

from kmapp.runtime import env
from kmapp.settings.databases import REDIS_URL
from kmapp.settings.folders import DATA_DIR

CELERY_BROKER_TRANSPORT_OPTIONS = {
    # Messages are redelivered after this time, by the clock of any worker: clocks may be hours
    # apart. A sweep finds the work of a dead worker much sooner.
    "visibility_timeout": 86_400,
    "unacked_restore_throttle": 1,
    "socket_timeout": 5,
    "socket_connect_timeout": 2,
    "socket_keepalive": True,
}
CELERY_BROKER_URL = env.broker(REDIS_URL)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
# Valkey refuses commands while its disk is full. Without this, the worker would end.
CELERY_BROKER_CHANNEL_ERROR_RETRY = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SOFT_TIME_LIMIT = 200
CELERY_TASK_TIME_LIMIT = 240
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# A worker with remote control can hang after an outage of the broker: redis-py reconnects inside a
# read that has no timeout. Remote control is not used.
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
# SIGTERM waits for running tasks, which are short (outbox.tasks.SLICE_SECONDS);
# SIGQUIT waits this long.
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 10
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULER = "kmapp.runtime.beat_scheduler:Scheduler"
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "beat-schedule")


def _every(period: timedelta, task: str) -> dict[str, Any]:
    return {"task": task, "schedule": period}


HOUR = timedelta(hours=1)
CELERY_BEAT_SCHEDULE = {
    "sweep the outbox": _every(timedelta(seconds=10), "kmapp.outbox.tasks.sweep"),
    "checkpoint the ledger": _every(HOUR, "kmapp.ledger.tasks.checkpoint"),
    "pack postings": _every(timedelta(seconds=5), "kmapp.search.tasks.pack_postings"),
    "pack codes": _every(timedelta(seconds=10), "kmapp.search.tasks.pack_vector_codes"),
    "delete old events": _every(HOUR, "kmapp.outbox.tasks.delete_old_events"),
    "flush access counters": _every(timedelta(seconds=30), "memory.jobs.tasks.store_access_counts"),
    "apply retention": _every(HOUR, "memory.jobs.tasks.forget_expired_memories"),
    "demote unused memories": _every(HOUR, "memory.jobs.tasks.demote_unused_memories"),
    "grow topics": _every(timedelta(minutes=10), "memory.jobs.tasks.enqueue_topic_growths"),
    "suggest rule changes": _every(HOUR, "rules.jobs.tasks.suggest"),
    "delete old decisions": _every(HOUR, "rules.jobs.tasks.delete_expired_decisions"),
    "delete old tool results": _every(HOUR, "context.jobs.tasks.delete_expired_archives"),
    "delete orphaned images": _every(
        timedelta(days=1), "knowledge.jobs.tasks.delete_orphaned_images"
    ),
    "sample the system": _every(timedelta(minutes=1), "kmapp.web.tasks.sample_system"),
    "record daily statistics": _every(
        timedelta(minutes=10), "kmapp.web.tasks.record_daily_statistics"
    ),
    "refresh notifications": _every(
        timedelta(minutes=5), "kmapp.notifications.tasks.refresh_notifications"
    ),
    "delete expired responses": _every(HOUR, "kmapp.api.tasks.delete_old_responses"),
    "delete expired sessions": _every(HOUR, "kmapp.web.tasks.delete_expired_sessions"),
}
OUTBOX_LEASE = timedelta(seconds=30)
OUTBOX_HEARTBEAT = timedelta(seconds=5)
OUTBOX_MAX_ATTEMPTS = env.integer("OUTBOX_MAX_ATTEMPTS", 8, minimum=1)
