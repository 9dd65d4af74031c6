"""Hand-over of a listening socket to a successor while clients send requests."""

import http.client
import io
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.conf import settings
from django.core.management import call_command
from pytest_django import Settings

from kmapp.management.commands import upgrade
from kmapp.runtime.embedded.temporary_servers import free_port
from kmapp.runtime.processes import HandOver, PidFile, wait_until

PATIENCE = 60  # seconds
pytestmark = [pytest.mark.promise(45), pytest.mark.timeout(4 * PATIENCE)]

# A WSGI application that responds with its version; the version "broken" does not start.
APPLICATION = """
import os

version = os.environ["VERSION"]
if version == "broken":
    raise RuntimeError("This version does not start.")

def application(environ, start_response):
    start_response("200 OK", [("Content-Length", str(len(version)))])
    return [version.encode()]
"""
CONFIGURATION = """
from kmapp.runtime.readiness_file import announce_ready

worker_class = "kmapp.runtime.gunicorn_worker.Worker"
threads = 4
control_socket_disable = True

def post_worker_init(_worker):
    announce_ready()
"""
DRIVER = """
import socket
import sys
from pathlib import Path

from kmapp.runtime.processes import Program
from kmapp.runtime.supervisor import Supervisor

data = Path(sys.argv[1])
listener = socket.create_server(("127.0.0.1", int(sys.argv[2])))

def program(version):
    ready = data / f"ready-{version}"
    configuration, address = data / "configuration.py", f"fd://{listener.fileno()}"
    argv = ["-m", "gunicorn", "-c", str(configuration), "-b", address]
    return Program(
        name="web",
        argv=[sys.executable, *argv, "--chdir", str(data), "version:application"],
        ready=ready.exists,
        env={"VERSION": version, "KMAPP_READY_FILE": str(ready)},
        descriptors=[listener.fileno()],
    )

versions = iter(["2", "broken"])
supervisor = Supervisor(data, lambda text: print(text, flush=True))
with supervisor.supervising():
    supervisor.start(program("1"))
    print("up", flush=True)
    supervisor.watch(lambda: supervisor.replace(program(next(versions))))
"""


@dataclass
class Client:
    """Sends requests without a pause; each on a new connection, or all on one while it lasts."""

    port: int
    keep: bool
    versions: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def run(self, stop: threading.Event) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        while not stop.is_set():
            try:
                connection.request("GET", "/")
                response = connection.getresponse()
                body = response.read().decode()
                if response.status == HTTPStatus.OK:
                    self.versions.append(body)
                else:
                    self.failures.append(f"{response.status} {body}")
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(repr(error))
                connection.close()
            if not self.keep:
                connection.close()
        connection.close()


@contextmanager
def load(port: int) -> Iterator[list[Client]]:
    clients = [Client(port, keep=keep) for keep in (False, False, True, True)]
    stop = threading.Event()
    threads = [threading.Thread(target=client.run, args=(stop,)) for client in clients]
    for thread in threads:
        thread.start()
    try:
        yield clients
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_no_request_fails_while_a_successor_takes_over(tmp_path: Path) -> None:
    """A second successor fails to start, and its predecessor continues to serve."""
    port = free_port()
    (tmp_path / "version.py").write_text(APPLICATION)
    (tmp_path / "configuration.py").write_text(CONFIGURATION)
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(tmp_path), str(port)],
        cwd=settings.BASE_DIR,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout
    pids = PidFile(tmp_path / "up.pid")
    try:
        assert any(line == "up\n" for line in process.stdout)
        with load(port) as clients:
            assert wait_until(lambda: all("1" in one.versions for one in clients), PATIENCE)
            process.send_signal(signal.SIGUSR2)
            assert wait_until(lambda: pids.hand_over() == HandOver(1), PATIENCE)
            assert wait_until(lambda: all(one.versions[-1] == "2" for one in clients), PATIENCE)
            process.send_signal(signal.SIGUSR2)
            assert wait_until(lambda: pids.hand_over() not in (None, HandOver(1)), PATIENCE)
            seen = [len(one.versions) for one in clients]
            assert wait_until(
                lambda: all(len(one.versions) > n for one, n in zip(clients, seen, strict=True)),
                PATIENCE,
            )
        assert [failure for one in clients for failure in one.failures] == []
        assert {one.versions[-1] for one in clients} == {"2"}
        last = pids.hand_over()
        assert last is not None
        assert "This version does not start." in last.problem
        children = json.loads((tmp_path / "up.pid").read_text())["children"]
        assert [child["name"] for child in children] == ["web"]
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def test_upgrade_waits_and_reports_while_kmapp_runs(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command has no timeout, because migrations may take any time."""
    settings.DATA_DIR = tmp_path
    pids, out = PidFile(tmp_path / "up.pid"), io.StringIO()
    pids.write([], HandOver())
    hand_over = threading.Timer(0.5, pids.write, ([], HandOver(1)))
    monkeypatch.setattr(upgrade, "REPORT_SECONDS", 0.1)
    monkeypatch.setattr(upgrade, "os", SimpleNamespace(kill=lambda *_: hand_over.start()))
    call_command("upgrade", stdout=out)
    hand_over.join()
    *reports, last = out.getvalue().splitlines()
    assert reports
    assert all("not finished after" in each for each in reports)
    assert last == "All processes run the installed version."
