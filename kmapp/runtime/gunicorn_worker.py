"""gunicorn's worker with timeouts for slow clients. No Django.

Its own waits five seconds for the first byte of a connection and for ever for the second, and a
thread that waits serves nobody else.
"""

import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]

SILENCE = 10.0  # seconds that a sender may pause
UNREAD = 60.0  # seconds that a reader may take for one piece of an answer


class Impatient(socket.socket):
    """A connection that counts as broken when the other side stands still."""

    def recv(self, *how: Any) -> bytes:
        with self._within(SILENCE):
            return super().recv(*how)

    def sendall(self, *what: Any) -> None:
        with self._within(UNREAD):
            super().sendall(*what)

    @contextmanager
    def _within(self, seconds: float) -> Iterator[None]:
        if self.gettimeout() is not None:  # somebody has a limit already
            yield
            return
        self.settimeout(seconds)
        try:
            yield
        except TimeoutError as error:
            raise ConnectionResetError(errno.ECONNRESET, "The other side stands still.") from error
        finally:
            self.settimeout(None)


class Worker(ThreadWorker):  # type: ignore[misc] # it has no types
    """Serves over such connections."""

    def enqueue_req(self, conn: Any) -> None:
        """Queue a connection before anything is read from it."""
        if not isinstance(conn.sock, Impatient):
            conn.sock = Impatient(fileno=conn.sock.detach())
        super().enqueue_req(conn)
