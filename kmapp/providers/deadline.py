"""Deadlines for whole calls, not for each read.

An HTTP timeout restarts with each received byte, so a slow provider could hold a request forever.
One event loop per process runs every call under a total deadline; cancelling closes the connection.
"""

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

GRACE = 0.25  # seconds after the deadline at which the caller returns even if the loop hangs

# By process, because a forked child must not use its parent's loop. The parent's loop is retained,
# because its garbage collection in the child would close shared sockets.
_loops: dict[int, asyncio.AbstractEventLoop] = {}


def run(call: Coroutine[Any, Any, T], seconds: float) -> T:
    """Return the result of a call, or raise TimeoutError after `seconds` in total."""
    future = asyncio.run_coroutine_threadsafe(_bounded(call, seconds), _loop())
    try:
        return future.result(timeout=seconds + GRACE)
    except BaseException:
        future.cancel()
        raise


async def _bounded(call: Coroutine[Any, Any, T], seconds: float) -> T:
    async with asyncio.timeout(seconds):
        return await call


def _loop() -> asyncio.AbstractEventLoop:
    pid = os.getpid()
    if pid not in _loops:
        ours = asyncio.new_event_loop()
        if _loops.setdefault(pid, ours) is ours:
            threading.Thread(target=ours.run_forever, name="provider calls", daemon=True).start()
        else:  # another thread was first
            ours.close()
    return _loops[pid]
