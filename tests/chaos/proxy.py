"""A TCP proxy that injects network faults between two processes.

It listens on loopback and forwards to a port or a Unix socket. `become` changes the behaviour of
all connections, open ones included.
"""

import contextlib
import random
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

ABORT = struct.pack("ii", 1, 0)  # SO_LINGER: close with a reset
CHUNK = 65_536
TICK = 0.05  # seconds
Address = str | int  # the path of a Unix socket, or a port of loopback


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to the bytes of a connection."""

    latency: float = 0.0  # seconds before each chunk
    blackhole: bool = False  # nothing passes, and nothing is closed
    reset: bool = False  # existing and new connections are reset
    truncate_after: int | None = None  # bytes of responses after which the connection closes
    pace: float = 0.0  # seconds a byte, on average


FAULTS = {
    "latency": Fault(latency=0.03),
    "reset": Fault(reset=True),
    "truncation": Fault(truncate_after=150),
    "blackhole": Fault(blackhole=True),
    "slow bytes": Fault(pace=0.0003),
}
# Of services that are called within a deadline. Their responses may be short.
LATE = "latency beyond the deadline"
DEADLINE = 0.5  # seconds
PATIENCE = 30.0  # seconds, for a call that must succeed on a busy machine
SERVICE_FAULTS = {
    **FAULTS,
    "truncation": Fault(truncate_after=5),
    LATE: Fault(latency=3.0),
}
SILENT = {"blackhole", LATE}  # a call fails at its deadline
BREAKING = {"reset", "truncation", *SILENT}  # a call fails


def choose_deadline(fault: str) -> float:
    """Return a deadline that a silent service misses and another one meets."""
    return DEADLINE if fault in SILENT else PATIENCE


@dataclass
class Proxy:
    """Forwards connections to `target`, through the present fault."""

    target: Address
    fault: Fault = field(default_factory=Fault)
    connections: int = 0  # forwarded so far
    _open: set[socket.socket] = field(default_factory=set)
    _closing: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = int(self._listener.getsockname()[1])

    @contextmanager
    def serving(self) -> Iterator["Proxy"]:
        threading.Thread(target=self._accept, daemon=True).start()
        try:
            yield self
        finally:
            self._closing.set()
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._reset_all()

    def become(self, fault: Fault | None = None) -> None:
        """Behave like this from now on; without a fault, forward everything."""
        self.fault = fault or Fault()
        if self.fault.reset:
            self._reset_all()

    def recover(self) -> None:
        """Forward everything from now on; what was delayed until now never arrives."""
        self.become(FAULTS["reset"])
        self.become()

    def _reset_all(self) -> None:
        for each in list(self._open):
            self._abort(each)

    def _abort(self, each: socket.socket) -> None:
        self._open.discard(each)
        with contextlib.suppress(OSError):
            if each.family != socket.AF_UNIX:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT)
            each.shutdown(socket.SHUT_RDWR)
        each.close()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._is_refusing():  # before anything can be forwarded
                self._abort(client)
                continue
            try:
                server = self._connect()
            except OSError:
                client.close()
                continue
            self.connections += 1
            self._open |= {client, server}
            for source, to, is_answer in ((client, server, False), (server, client, True)):
                args = (source, to, is_answer)
                threading.Thread(target=self._forward, args=args, daemon=True).start()
            if self._is_refusing():  # since then
                self._abort(client)
                self._abort(server)

    def _is_refusing(self) -> bool:
        """Return whether connections are reset now; another thread may change this any time."""
        return self.fault.reset

    def _connect(self) -> socket.socket:
        if isinstance(self.target, int):
            return socket.create_connection(("127.0.0.1", self.target), 5)
        server = socket.socket(socket.AF_UNIX)
        server.connect(self.target)
        return server

    def _forward(self, source: socket.socket, to: socket.socket, is_answer: bool) -> None:  # noqa: FBT001
        passed = 0
        with contextlib.suppress(OSError):
            source.settimeout(None)
            while data := source.recv(CHUNK):
                while self.fault.blackhole and not self._closing.is_set():
                    time.sleep(TICK)
                fault, rest = self.fault, data
                time.sleep(fault.latency)
                if fault.truncate_after is not None and is_answer:
                    rest = data[: max(0, fault.truncate_after - passed)]
                self._send(to, rest)
                passed += len(rest)
                if len(rest) < len(data):
                    break
        for each in (source, to):
            self._abort(each)

    def _send(self, to: socket.socket, data: bytes) -> None:
        """Send everything, byte by byte while the fault has a pace.

        Each byte has a due time, so that the errors of inexact sleeps do not add up.
        """
        due = time.monotonic()
        while data:
            part = 1 if self.fault.pace else len(data)
            if self.fault.pace:
                due += self.fault.pace * random.uniform(0.5, 1.5)  # noqa: S311
                time.sleep(max(0.0, due - time.monotonic()))
            to.sendall(data[:part])
            data = data[part:]
