"""Connections of the web process end when the client is too slow."""

import socket
from pathlib import Path

import pytest

from kmapp.runtime import gunicorn_worker
from kmapp.runtime.gunicorn_worker import TimeoutSocket

SIZE = 64 * 2**20  # bytes, more than the buffers of a connection hold
pytestmark = [pytest.mark.promise(33), pytest.mark.timeout(60)]


def test_client_that_reads_no_response_is_disconnected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither `sendall` nor `sendfile` blocks the thread for longer than the timeout."""
    monkeypatch.setattr(gunicorn_worker, "UNREAD", 0.2)
    file = tmp_path / "file"
    with file.open("wb") as empty:
        empty.truncate(SIZE)
    here, there = socket.socketpair()
    with there, TimeoutSocket(fileno=here.detach()) as connection, file.open("rb") as content:
        with pytest.raises(ConnectionResetError):
            connection.sendall(bytes(SIZE))
        with pytest.raises(ConnectionResetError):
            connection.sendfile(content, offset=0, count=SIZE)
        assert connection.gettimeout() is None
