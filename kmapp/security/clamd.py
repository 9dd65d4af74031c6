"""Scanning of files by ClamAV's daemon (clamd), over its INSTREAM command."""

import socket
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

CHUNK_SIZE = 1024 * 1024  # bytes; below clamd's limit for a part
MAX_REPLY_BYTES = 4096


class ScanFailed(Exception):
    """The scanner could not be reached, or could not scan the file."""


class ScannerUnreachable(ScanFailed):
    """No connection, whatever the file is."""


def scan_file(address: str, pieces: Iterable[bytes], *, timeout: float) -> str | None:
    """Return the name of the virus in a file, or None. `address` is a path or host:port."""
    with _connected(address, timeout) as connection:
        reply = _send_file(connection, pieces)
    result = reply.removeprefix("stream:").strip()
    if result == "OK":
        return None
    if result.endswith(" FOUND"):
        return result.removesuffix(" FOUND")
    raise ScanFailed(result or "The scanner closed the connection.")


def ping(address: str, *, timeout: float) -> None:
    """Raise ScanFailed unless the scanner answers. `address` is a path or host:port."""
    with _connected(address, timeout) as connection:
        connection.sendall(b"zPING\0")
        reply = _read_reply(connection)
    if reply != "PONG":
        raise ScanFailed(reply or "The scanner closed the connection.")


@contextmanager
def _connected(address: str, timeout: float) -> Iterator[socket.socket]:
    """Connect for the time of the block. An error of the connection becomes a ScanFailed."""
    try:
        connection = _connect(address, timeout)
    except (OSError, ValueError, OverflowError) as error:  # or a port that is no number
        raise ScannerUnreachable(f"{type(error).__name__}: {error}") from error
    try:
        with connection:
            yield connection
    except OSError as error:
        raise ScanFailed(f"{type(error).__name__}: {error}") from error


def _connect(address: str, timeout: float) -> socket.socket:
    host, colon, port = address.rpartition(":")
    if colon and "/" not in address:
        return socket.create_connection((host.strip("[]"), int(port)), timeout)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(timeout)
    try:
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


def _send_file(connection: socket.socket, pieces: Iterable[bytes]) -> str:
    try:
        connection.sendall(b"zINSTREAM\0")
        for piece in pieces:
            for start in range(0, len(piece), CHUNK_SIZE):
                part = piece[start : start + CHUNK_SIZE]
                connection.sendall(struct.pack(">I", len(part)) + part)
        connection.sendall(struct.pack(">I", 0))
    except (BrokenPipeError, ConnectionResetError):
        pass  # it has replied already, for example that the file exceeds its limit
    return _read_reply(connection)


def _read_reply(connection: socket.socket) -> str:
    reply = b""
    while len(reply) < MAX_REPLY_BYTES and (data := connection.recv(MAX_REPLY_BYTES)):
        reply += data
    if reply and not reply.endswith(b"\0"):
        raise ScanFailed("The reply of the scanner was cut short.")
    return reply.rstrip(b"\0").decode(errors="replace").strip()
