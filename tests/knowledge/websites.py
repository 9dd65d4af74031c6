"""Servers on the loopback interface: a canary that counts connections, and a small website."""

import gzip
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

PAGE = b"<html><head><title>Green tea</title></head><body><h1>Green tea</h1><p>Keep it cold."
JAPANESE = "緑茶は冷やして保存します。"


class Canary:
    """A listener that counts connections."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.socket.getsockname()[1])
        self.address = f"127.0.0.1:{self.port}"
        self._callers: list[int] = []  # ports of the clients
        self._called = threading.Condition()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                caller, (_host, port) = self.socket.accept()
            except OSError:
                return
            with self._called:
                self._callers.append(port)
                self._called.notify_all()
            caller.close()

    def count_connections(self) -> int:
        """Return the number of connections so far.

        Wait for a connection of its own, which is accepted after all earlier ones.
        """
        with socket.create_connection(self.socket.getsockname()) as own, self._called:
            port = own.getsockname()[1]
            assert self._called.wait_for(lambda: port in self._callers, timeout=60)
            self._callers.remove(port)
            return len(self._callers)


class Site(ThreadingHTTPServer):
    """A website; the first part of the path names a method of `_Handler`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.netloc = f"127.0.0.1:{self.server_port}"
        self.broken = False
        self.hosts: list[str] = []  # the Host header of each request

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that disconnect."""


class _Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.hosts.append(self.headers["Host"])
        if self.server.broken:
            return self.send_error(503)
        name, _, rest = self.path.removeprefix("/").partition("/")
        with suppress(ConnectionError):
            getattr(self, f"_{name}")(rest)
        return None

    def _page(self, _rest: str) -> None:
        self._answer(PAGE, "text/html; charset=utf-8")

    def _echo(self, rest: str) -> None:
        self._answer(rest.encode(), "text/plain")

    def _charset(self, rest: str) -> None:
        page = f"<html><head><title>{JAPANESE}</title></head><body><p>{JAPANESE}"
        self._answer(page.encode(rest), f'text/html; charset="{rest}"')

    def _to(self, rest: str) -> None:
        self.send_response(302)
        self.send_header("Location", unquote(rest, encoding="latin-1"))  # byte for byte
        self.end_headers()

    def _again(self, rest: str) -> None:
        times = int(rest)
        self._to(f"/again/{times - 1}" if times > 1 else "/page")

    def _picture(self, _rest: str) -> None:
        self._answer(b"\x89PNG", "image/png")

    def _packed(self, _rest: str) -> None:
        self._answer(gzip.compress(PAGE), "text/html", ("Content-Encoding", "gzip"))

    def _long(self, _rest: str) -> None:
        self._answer(PAGE * 100, "text/html")

    def _drip(self, _rest: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        for _ in range(100):
            self.wfile.write(b"a")
            time.sleep(0.1)

    def _answer(self, body: bytes, kind: str, *more: tuple[str, str]) -> None:
        self.send_response(200)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(body))), *more):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Log nothing."""


@contextmanager
def served(site: Site) -> Iterator[Site]:
    threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield site
    finally:
        site.shutdown()
        site.server_close()
