"""A limit of the processor time that conditions of rules may take. Pure."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import thread_time

_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)


class TooSlow(Exception):
    """Matching took longer than `limit_time` permits."""


@contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """Raise TooSlow if conditions use more processor time inside this block.

    The limit of an outer block still applies.
    """
    token = _deadline.set(min(_deadline.get(), thread_time() + seconds))
    try:
        yield
    finally:
        _deadline.reset(token)


def check_time() -> None:
    """Raise TooSlow after the limit; called before each step that may take long."""
    deadline = _deadline.get()
    if deadline < math.inf and thread_time() > deadline:
        raise TooSlow
