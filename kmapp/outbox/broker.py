"""The message broker: queue depth, and publishing from a thread.

A message only signals that there is work, so a hundred per queue are enough. Messages do not
expire, because the clocks of sender and receiver may be hours apart.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable

import structlog
from django.conf import settings
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

log = structlog.get_logger()

WRITE_CHECK = "kmapp:write-check"  # a key that does not exist
MAX_QUEUED_MESSAGES = 100  # messages in one queue
FAILURE_PAUSE_SECONDS = 1.0  # seconds after a failure
PAUSE_SECONDS = 0.05  # seconds between two messages: a thousand writes need few messages


def count_messages(queues: Iterable[str]) -> int:
    """Return the number of messages that a worker can take, or 0 if the broker is away.

    Taking a message is a write, which the broker refuses while its disk is full, for example.
    """
    no_retries = Retry(NoBackoff(), 0)
    with Redis.from_url(settings.REDIS_URL, socket_timeout=2, retry=no_retries) as broker:
        try:
            broker.persist(WRITE_CHECK)
            return sum(int(broker.llen(queue)) for queue in queues)
        except RedisError:
            return 0


def is_crowded(queue: str) -> bool:
    return count_messages([queue]) >= MAX_QUEUED_MESSAGES


class AsyncPublisher:
    """Calls `send` with names of queues in a thread; repeated names are sent once.

    The broker may be slow or unreachable (Celery needs 6 s to notice), so callers do not wait.
    A name that cannot be sent is dropped; the sweep of the outbox finds its work.
    """

    def __init__(self, send: Callable[[str], object]) -> None:
        self._send = send
        self._reset()
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        """Start empty, because a child process has no thread."""
        self._queues: set[str] = set()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def publish(self, queues: Iterable[str]) -> None:
        with self._changed:
            self._queues.update(queues)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="broker_publisher", daemon=True
                )
                self._thread.start()
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queues)
                queue = self._queues.pop()
            try:
                self._send(queue)
            except Exception as error:  # noqa: BLE001 - only the message is lost
                log.warning("broker_unreachable", queue=queue, error=repr(error))
                time.sleep(FAILURE_PAUSE_SECONDS)
            time.sleep(PAUSE_SECONDS)
