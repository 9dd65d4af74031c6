"""Calls in several threads at once, for jobs that mostly wait for a server."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TypeVar

A = TypeVar("A")
R = TypeVar("R")


def map_concurrently(call: Callable[[A], R], arguments: Sequence[A], *, limit: int) -> list[R]:
    """Return the results in order, of at most `limit` calls at a time.

    After a call has failed, no further call begins. Raise the first error once all calls have
    ended. Calls must not use the database, because each thread would open a connection.
    """
    if len(arguments) <= 1:
        return [call(argument) for argument in arguments]
    pool = ThreadPoolExecutor(limit, thread_name_prefix="concurrent calls")
    calls: list[Future[R]] = []
    running: set[Future[R]] = set()
    try:
        for argument in arguments:
            if len(running) == limit:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                if any(each.exception() for each in done):
                    break
            calls.append(pool.submit(_bind_context(call, argument)))
            running.add(calls[-1])
        wait(calls)
        return [each.result() for each in calls]
    finally:
        # A job that is interrupted at its time limit does not wait for its calls.
        pool.shutdown(wait=False)


def _bind_context(call: Callable[[A], R], argument: A) -> Callable[[], R]:
    """Return the call in a copy of the current context, so that it belongs to the same trace."""
    context = copy_context()
    return lambda: context.run(call, argument)
