"""A scripted clamd, which speaks the protocol of the real one."""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread

from kmapp.security.clamd import CHUNK_SIZE

VIRUS = b"X5O!-TEST-FILE"


class Clamd:
    """A scripted clamd on a socket: it finds a virus in files that contain VIRUS."""

    def __init__(self, server: socket.socket, most: int) -> None:
        self.server, self.most = server, most
        self.files: list[bytes] = []
        Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:  # closed
                return
            with (
                suppress(OSError, struct.error),  # the client has left
                connection,
                connection.makefile("rb") as stream,
            ):
                if stream.peek(6).startswith(b"zPING\0"):
                    connection.sendall(b"PONG\0")
                elif stream.read(10) == b"zINSTREAM\0":
                    connection.sendall(self._scan(stream))

    def _scan(self, stream: "object") -> bytes:
        data = b""
        while size := struct.unpack(">I", stream.read(4))[0]:  # type: ignore[attr-defined]
            data += stream.read(size)  # type: ignore[attr-defined]
        if len(data) > self.most:  # clamd disconnects, which may lose its reply
            return b"INSTREAM size limit exceeded. ERROR\0"
        self.files.append(data)
        return b"stream: Test.Signature FOUND\0" if VIRUS in data else b"stream: OK\0"


@contextmanager
def clamd(server: socket.socket, most: int = 10 * CHUNK_SIZE) -> Iterator[Clamd]:
    server.listen()
    with server:
        yield Clamd(server, most)
        server.shutdown(socket.SHUT_RDWR)
