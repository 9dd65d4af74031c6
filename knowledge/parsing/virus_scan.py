"""Scanning of files by ClamAV's daemon (clamd), over its INSTREAM command."""

import socket
import struct
from collections.abc import Iterable

PART = 1024 * 1024  # bytes; below clamd's limit for a part
LONGEST_REPLY = 4096


class ScannerFailed(Exception):
    """The scanner could not be reached, or could not scan the file."""


def scan(address: str, pieces: Iterable[bytes], *, timeout: float) -> str | None:
    """Return the name of the virus in a file, or None. `address` is a path or host:port."""
    try:
        with _connect(address, timeout) as connection:
            reply = _exchange(connection, pieces)
    except OSError as error:
        raise ScannerFailed(f"{type(error).__name__}: {error}") from error
    result = reply.removeprefix("stream:").strip()
    if result == "OK":
        return None
    if result.endswith(" FOUND"):
        return result.removesuffix(" FOUND")
    raise ScannerFailed(result or "The scanner closed the connection.")


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


def _exchange(connection: socket.socket, pieces: Iterable[bytes]) -> str:
    try:
        connection.sendall(b"zINSTREAM\0")
        for piece in pieces:
            for start in range(0, len(piece), PART):
                part = piece[start : start + PART]
                connection.sendall(struct.pack(">I", len(part)) + part)
        connection.sendall(struct.pack(">I", 0))
    except (BrokenPipeError, ConnectionResetError):
        pass  # it has replied already, for example that the file exceeds its limit
    reply = b""
    while len(reply) < LONGEST_REPLY and (data := connection.recv(LONGEST_REPLY)):
        reply += data
    return reply.rstrip(b"\0").decode(errors="replace").strip()
