"""Retry delays. Pure."""

from datetime import timedelta

CEILING = timedelta(minutes=10)


def delay_after(attempts: int, *, most: int) -> timedelta | None:
    """How long to wait after this many failures; None means give up."""
    if attempts >= most:
        return None
    return min(timedelta(seconds=2**attempts), CEILING)
