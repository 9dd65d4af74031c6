"""A scripted mail server on loopback, which stores the messages that it accepts."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email import message_from_bytes
from socketserver import StreamRequestHandler, ThreadingTCPServer

REPLIES = {b"RCPT": "250 OK", b"MAIL": "250 OK", b"EHLO": "250 mail.test", b"QUIT": "221 Bye"}


class MailServer(ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.messages: list[bytes] = []

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def ids(self) -> list[str | None]:
        """Return the Message-ID of each message."""
        return [message_from_bytes(each)["Message-ID"] for each in self.messages]


class _Handler(StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        with suppress(OSError):  # the client has left
            self._reply("220 mail.test")
            while line := self.rfile.readline():
                verb = line[:4].upper()
                if verb == b"DATA":
                    self._reply("354 Go on")
                    self._read_message()
                self._reply(REPLIES.get(verb, "250 OK"))

    def _reply(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())

    def _read_message(self) -> None:
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            if not line:
                raise ConnectionError
            lines.append(line)
        self.server.messages.append(b"".join(lines))


@contextmanager
def serve_mail() -> Iterator[MailServer]:
    with MailServer() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()
