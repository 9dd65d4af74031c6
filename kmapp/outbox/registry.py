"""Registry of outbox handlers. Handlers subscribe by decorator in `jobs.handlers` of an app."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

QUEUES = ("default", "embedding", "extraction", "clustering")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One delivery, as its handler sees it. `payload` holds ids: read present state."""

    id: UUID  # of the delivery
    event_id: UUID
    account_id: UUID
    topic: str
    job_key: str
    payload: Mapping[str, Any]
    attempt: int  # 1 for the first


class RetryLater(Exception):
    """Work that cannot start yet, such as for want of a chat model. Uses up no attempt.

    With `for_all`, no other job of this handler can start either: it is left alone as long.
    """

    def __init__(self, reason: str, *, seconds: float = 60, for_all: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.seconds = seconds
        self.for_all = for_all


class PermanentFailure(Exception):
    """Trying again changes nothing: the delivery fails at once, and a person looks at it."""


JobErrors = Mapping[UUID, Exception]  # by Job.id; a job that is not named succeeded
Handler = Callable[[Sequence[Job]], JobErrors | None]
FailureHook = Callable[[Job], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """`run` gets up to `batch` due jobs of one account, outside transactions; answers for each.

    What runs `alone` is heavy: one process of a host has it, the others go on with the rest.
    `gave_up` writes down that a job failed for good, inside `acting`, where somebody waits for it.
    """

    name: str
    topic: str
    run: Handler
    batch: int
    queue: str
    alone: bool
    on_permanent_failure: FailureHook | None


_subscriptions: dict[str, Subscription] = {}


def on(
    topic: str,
    *,
    name: str = "",
    batch: int = 1,
    queue: str = "default",
    alone: bool = False,
    on_permanent_failure: FailureHook | None = None,
) -> Callable[[Handler], Handler]:
    """Subscribe a handler to a topic.

    A handler that raises fails its whole batch; one that returns {job.id: error} fails those jobs.
    `name` is stored with each delivery: it stays the same when the function is moved or renamed.
    """
    if queue not in QUEUES:
        raise ValueError(f"{queue!r} is no queue: {', '.join(QUEUES)}.")

    def subscribe(run: Handler) -> Handler:
        stored_name = name or f"{run.__module__}.{run.__qualname__}"
        _subscriptions[stored_name] = Subscription(
            name=stored_name,
            topic=topic,
            run=run,
            batch=batch,
            queue=queue,
            alone=alone,
            on_permanent_failure=on_permanent_failure,
        )
        return run

    return subscribe


def subscribers(topic: str) -> list[Subscription]:
    return [each for each in _subscriptions.values() if each.topic == topic]


def subscription(name: str) -> Subscription | None:
    return _subscriptions.get(name)


def subscriptions(queue: str | None = None) -> list[Subscription]:
    return [each for each in _subscriptions.values() if queue in (None, each.queue)]
