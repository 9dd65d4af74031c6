"""Deadlines for whole calls, not for each read.

An HTTP timeout counts from one received byte to the next, so a provider that drips holds a
request for as long as it likes. Here one event loop per process runs every call under a total
deadline, and cancelling closes the connection.
"""

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

# If the loop itself is stuck, the caller still leaves; this much later than the deadline.
GRACE = 0.25

# By process: a forked child must not touch its parent's loop. Kept, not replaced, because
# collecting the parent's loop in the child would close sockets that the two share.
_loops: dict[int, asyncio.AbstractEventLoop] = {}


def run(call: Coroutine[Any, Any, T], seconds: float) -> T:
    """Return the result of a call, or raise TimeoutError after `seconds` in total."""
    future = asyncio.run_coroutine_threadsafe(_bounded(call, seconds), _loop())
    try:
        return future.result(timeout=seconds + GRACE)
    except BaseException:
        # Out of time, or the caller was interrupted: either way nobody waits for it any more.
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
