"""Scanning of files by ClamAV's daemon (clamd), over its INSTREAM command."""

import socket
import struct
from collections.abc import Iterable

CHUNK_SIZE = 1024 * 1024  # bytes; below clamd's limit for a part
MAX_REPLY_BYTES = 4096


class ScanFailed(Exception):
    """The scanner could not be reached, or could not scan the file."""


class ScannerUnreachable(ScanFailed):
    """No connection, whatever the file is."""


def scan_file(address: str, pieces: Iterable[bytes], *, timeout: float) -> str | None:
    """Return the name of the virus in a file, or None. `address` is a path or host:port."""
    try:
        connection = _connect(address, timeout)
    except OSError as error:
        raise ScannerUnreachable(f"{type(error).__name__}: {error}") from error
    try:
        with connection:
            reply = _send_file(connection, pieces)
    except OSError as error:
        raise ScanFailed(f"{type(error).__name__}: {error}") from error
    result = reply.removeprefix("stream:").strip()
    if result == "OK":
        return None
    if result.endswith(" FOUND"):
        return result.removesuffix(" FOUND")
    raise ScanFailed(result or "The scanner closed the connection.")


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
    reply = b""
    while len(reply) < MAX_REPLY_BYTES and (data := connection.recv(MAX_REPLY_BYTES)):
        reply += data
    return reply.rstrip(b"\0").decode(errors="replace").strip()
