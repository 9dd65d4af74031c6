"""Further hosts, simulated by network namespaces, which reach this host over TCP with TLS."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kmapp.runtime.processes import Program
from tests.chaos.conftest import ROLES, ChaosServer
from tests.chaos.product import BASE, Product
from tests.tls_server import make_certificate, terminate_tls

SERVER = "10.213.0.1"  # the address of this host, on its loopback
EMBED_SECONDS = 4.0  # of each call to an embedder, so that processors are not the limit
CONNECT = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 1)"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@dataclass
class Host(Product):
    """A host with a worker and an embedder of its own."""

    namespace: str = ""
    prefix: Sequence[str] = field(init=False)

    def __post_init__(self) -> None:
        self.prefix = (shutil.which("ip") or "ip", "netns", "exec", self.namespace)

    def _provider(self) -> Program:
        argv = [sys.executable, "-m", "tests.fake_provider", "--port", str(self.provider_port)]
        argv += ["--mode", "slow", "--delay", str(EMBED_SECONDS)]
        return Program(name="provider", argv=argv, ready=self._provider_answers)

    def _provider_answers(self) -> bool:
        command = [*self.prefix, sys.executable, "-c", CONNECT, str(self.provider_port)]
        return not subprocess.run(command, check=False, capture_output=True, cwd=BASE).returncode

    def end(self) -> None:
        self.kill(*self.running)

    def disappear(self) -> None:
        """Cut the network of the host, then kill its processes: no connection is closed."""
        _ip("-n", self.namespace, "link", "set", "eth0", "down")
        self.kill(*self.running)


@contextmanager
def open_hosts(
    chaos_server: ChaosServer, product: Product, names: Sequence[str]
) -> Iterator[list[Host]]:
    """Create hosts for workers of this product; skip the test where that is not permitted."""
    certificate = make_certificate(product.home, SERVER)
    socket = chaos_server.postgres.sockets / ".s.PGSQL.5432"
    with ExitStack() as stack:
        try:
            stack.enter_context(_address())
            for number, name in enumerate(names, 1):
                stack.enter_context(_namespace(name, number))
        except (FileNotFoundError, subprocess.CalledProcessError) as error:
            pytest.skip(f"Network namespaces need root and iproute2: {error}")
        database, valkey = (
            stack.enter_context(
                terminate_tls(target, certificate, postgres=target == socket, address=SERVER)
            )
            for target in (socket, product.valkey.socket)
        )
        hosts = [_build_host(product, certificate, name, database, valkey) for name in names]
        for host in hosts:
            stack.callback(host.end)
        yield hosts


def _build_host(product: Product, certificate: Path, name: str, database: int, valkey: int) -> Host:
    tls = f"sslmode=verify-full&sslrootcert={certificate}"
    data = product.database.rpartition("?")[0].rpartition("/")[2]
    home = product.home / name
    home.mkdir()
    verified = f"ssl_cert_reqs=required&ssl_ca_certs={certificate}"
    environment = {
        "REDIS_URL": f"rediss://{SERVER}:{valkey}/0?{verified}",
        # All hosts share these files.
        "CHECKPOINT_FILE": str(product.home / "checkpoints" / "checkpoints.ndjson"),
        "CHECKPOINT_KEY_FILE": str(product.home / "keys" / "checkpoint.ed25519"),
    }
    url = f"postgres://{ROLES['app']}@{SERVER}:{database}/{data}?{tls}"
    return Host(home, url, extra_environment=environment, namespace=name)


@contextmanager
def _address() -> Iterator[None]:
    _ip("addr", "replace", f"{SERVER}/32", "dev", "lo")
    try:
        yield
    finally:
        _ip("addr", "del", f"{SERVER}/32", "dev", "lo")


@contextmanager
def _namespace(name: str, number: int) -> Iterator[None]:
    here, there = f"10.213.{number}.1", f"10.213.{number}.2"
    _ip("netns", "add", name)
    try:
        _ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
        _ip("addr", "add", f"{here}/24", "dev", name)
        _ip("link", "set", name, "up")
        _ip("-n", name, "addr", "add", f"{there}/24", "dev", "eth0")
        for link in ("lo", "eth0"):
            _ip("-n", name, "link", "set", link, "up")
        _ip("-n", name, "route", "add", SERVER, "via", here)
        try:
            yield
        finally:
            _ip("link", "del", name)
    finally:
        _ip("netns", "del", name)
