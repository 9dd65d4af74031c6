"""Registry of outbox handlers, which subscribe in `jobs.handlers` of an app. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

QUEUES = ("default", "embedding", "extraction", "clustering")
MAX_RETRY_DELAY = timedelta(minutes=10)  # of the delay before a retry


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One delivery for its handler. `payload` contains ids: read the current data."""

    id: UUID  # of the delivery
    event_id: UUID
    account_id: UUID
    topic: str
    job_key: str
    payload: Mapping[str, Any]
    attempt: int  # 1 for the first
    traceparent: str = ""  # of the trace in which it was published


class RetryLater(Exception):
    """Work that cannot start yet, such as without a chat model. It does not count as an attempt.

    With `for_all`, no other job of this handler can start either during this time.
    """

    def __init__(self, reason: str, *, seconds: float = 60, for_all: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.seconds = seconds
        self.for_all = for_all


class PermanentFailure(Exception):
    """A retry would not help: the delivery fails at once and needs review."""


JobErrors = Mapping[UUID, Exception]  # by Job.id; other jobs succeeded
Handler = Callable[[Sequence[Job]], JobErrors | None]
FailureHook = Callable[[Job], None]
FailureObserver = Callable[[Job, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """A handler: `run` receives up to `batch` due jobs of one account, outside transactions.

    With `one_per_host`, one process of each host runs the handler, because it is heavy.
    `on_permanent_failure` is called inside `acting` to record the failure for those who wait for
    the job.
    """

    name: str
    topic: str
    run: Handler
    batch: int
    queue: str
    one_per_host: bool
    on_permanent_failure: FailureHook | None


_subscriptions: dict[str, Subscription] = {}
_failure_observers: list[FailureObserver] = []


def register_handler(
    topic: str,
    *,
    name: str = "",
    batch: int = 1,
    queue: str = "default",
    one_per_host: bool = False,
    on_permanent_failure: FailureHook | None = None,
) -> Callable[[Handler], Handler]:
    """Subscribe a handler to a topic.

    A handler that raises fails its whole batch; one that returns {job.id: error} fails those jobs.
    `name` is stored with each delivery, so it must not change when the function is moved.
    """
    if queue not in QUEUES:
        raise ValueError(f"{queue!r} is not a queue. Queues: {', '.join(QUEUES)}.")

    def subscribe(run: Handler) -> Handler:
        stored_name = name or f"{run.__module__}.{run.__qualname__}"
        _subscriptions[stored_name] = Subscription(
            name=stored_name,
            topic=topic,
            run=run,
            batch=batch,
            queue=queue,
            one_per_host=one_per_host,
            on_permanent_failure=on_permanent_failure,
        )
        return run

    return subscribe


def register_failure_observer(observer: FailureObserver) -> FailureObserver:
    """Call this function with each job that failed permanently, and the name of its handler.

    It runs inside `acting`, in the transaction that stores the failure.
    """
    _failure_observers.append(observer)
    return observer


def report_failure(job: Job, handler: str) -> None:
    for observer in _failure_observers:
        observer(job, handler)


def list_subscribers(topic: str) -> list[Subscription]:
    return [each for each in _subscriptions.values() if each.topic == topic]


def get_subscription(name: str) -> Subscription | None:
    return _subscriptions.get(name)


def list_subscriptions(queue: str | None = None) -> list[Subscription]:
    return [each for each in _subscriptions.values() if queue in (None, each.queue)]


def compute_retry_delay(attempts: int, *, max_attempts: int) -> timedelta | None:
    """Return the delay after this many failures, or None after the last attempt."""
    return (
        None if attempts >= max_attempts else min(timedelta(seconds=2**attempts), MAX_RETRY_DELAY)
    )
