"""gunicorn's worker with timeouts for slow clients. No Django.

gunicorn's own worker waits five seconds for the first byte of a connection and forever for the
second, and a waiting thread serves no other request.
"""

import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]

SILENCE = 10.0  # seconds a client may pause while it sends
UNREAD = 60.0  # seconds a client may take to read one piece of a response


class TimeoutSocket(socket.socket):
    """A connection that breaks when the client is too slow."""

    def recv(self, *how: Any) -> bytes:
        with self._limit_time(SILENCE):
            return super().recv(*how)

    def sendall(self, *what: Any) -> None:
        with self._limit_time(UNREAD):
            super().sendall(*what)

    def sendfile(self, *what: Any, **options: Any) -> int:
        with self._limit_time(UNREAD):
            return super().sendfile(*what, **options)

    @contextmanager
    def _limit_time(self, seconds: float) -> Iterator[None]:
        if self.gettimeout() is not None:
            yield
            return
        self.settimeout(seconds)
        try:
            yield
        except TimeoutError as error:
            raise ConnectionResetError(
                errno.ECONNRESET, "The client stopped sending or receiving."
            ) from error
        finally:
            self.settimeout(None)


class Worker(ThreadWorker):  # type: ignore[misc] # it has no types
    def enqueue_req(self, conn: Any) -> None:
        """Replace the socket before anything is read from it."""
        if not isinstance(conn.sock, TimeoutSocket):
            conn.sock = TimeoutSocket(fileno=conn.sock.detach())
        super().enqueue_req(conn)
