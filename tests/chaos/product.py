"""The real product on a database of its own, for injected faults.

Every process leads a session, so that a signal reaches all its children.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from celery import Celery
from django.conf import settings

from kmapp.accounts.acting import acting
from kmapp.accounts.models import account_ids
from kmapp.database.ids import uuid7
from kmapp.outbox.models import Delivery
from kmapp.outbox.publish import NewJob, publish
from kmapp.runtime import env, processes, stack
from kmapp.runtime.embedded.temporary_servers import free_port
from kmapp.runtime.embedded.valkey import Valkey
from kmapp.runtime.processes import Program
from tests.chaos.published_jobs import Jobs

BASE = Path(__file__).resolve().parents[2]
PATIENCE = 120  # seconds for a part to be ready on a busy machine


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Any
    seconds: float
    headers: Mapping[str, str]


@dataclass
class Product:
    """One deployment; `database` is its URL for the app role."""

    home: Path
    database: str
    key: str = ""  # the API key of `post`
    port: int = field(default_factory=free_port)
    provider_port: int = field(default_factory=free_port)
    mcp_port: int = field(default_factory=free_port)
    extra_environment: Mapping[str, str] = field(default_factory=dict)
    part_environment: dict[str, Mapping[str, str]] = field(default_factory=dict)  # by name
    prefix: Sequence[str] = ()  # of the command of each process
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def valkey(self) -> Valkey:
        return Valkey(self.home / "valkey", self.home / "valkey.sock", self.log("valkey"))

    @property
    def checkpoint_file(self) -> Path:
        default = self.home / "checkpoints" / "checkpoints.ndjson"
        return Path(self.extra_environment.get("CHECKPOINT_FILE", default))

    def log(self, name: str) -> Path:
        return self.home / f"{name}.log"

    def environment(self) -> dict[str, str]:
        return {
            "DJANGO_SETTINGS_MODULE": "tests.chaos.settings",
            "PYTHONPATH": str(BASE),
            "PYTHONUNBUFFERED": "1",
            "KMAPP_DATA_DIR": str(self.home),
            "SECRET_KEY": "tests only",
            "DATABASE_URL": self.database,
            "REDIS_URL": self.valkey.url(),
            "EMBEDDING_BASE_URL": f"http://127.0.0.1:{self.provider_port}/v1",
            "EMBEDDING_BATCH_BASE_URL": f"http://127.0.0.1:{self.provider_port}/v1",
            "EMBEDDING_MODEL": settings.EMBEDDING_MODEL,
            "EMBEDDING_DIMENSIONS": str(settings.EMBEDDING_DIMENSIONS),
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
            "THROTTLE_WRITE_PER_MINUTE": "1000000",
            "THROTTLE_RECALL_PER_MINUTE": "1000000",
            "THROTTLE_DEBUG_PER_MINUTE": "1000000",
            "THROTTLE_ANONYMOUS_PER_MINUTE": "1000000",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{self.provider_port}/v1",
            "CHAT_MODEL": "talker",
            "LOG_LEVEL": "INFO",
            **self.extra_environment,
        }

    # --- Processes --------------------------------------------------------------------------------

    def ensure_running(self, *names: str) -> None:
        """Start the parts that do not run: Valkey, then the others at once; wait for all."""
        ended = [name for name in names if name not in self.pids()]
        for stage in ({"valkey"}, {*ended} - {"valkey"}):
            programs = [self._start(getattr(self, f"_{each}")()) for each in ended if each in stage]
            for program in programs:
                self._wait_until_ready(program)

    def _valkey(self) -> Program:
        valkey = self.valkey
        valkey.prepare()
        return valkey.program()

    def _provider(self) -> Program:
        argv = [sys.executable, "-m", "tests.fake_provider", "--port", str(self.provider_port)]
        return Program(name="provider", argv=argv, ready=lambda: _accepts(self.provider_port))

    def _web(self) -> Program:
        return Program(name="web", argv=stack.build_web().argv, ready=self._web_answers)

    def _mcp(self) -> Program:
        argv = [*stack.build_mcp().argv, "--port", str(self.mcp_port)]  # the last port counts
        return Program(name="mcp", argv=argv, ready=lambda: _accepts(self.mcp_port))

    def _worker(self, name: str = "worker") -> Program:
        log = self.log(name)
        before = log.stat().st_size if log.exists() else 0  # written by its predecessors
        return Program(
            name=name,
            argv=stack.build_worker().argv,
            ready=lambda: b" ready." in log.read_bytes()[before:],
        )

    def _second_worker(self) -> Program:
        return self._worker("second_worker")

    def _beat(self) -> Program:
        return Program(name="beat", argv=stack.build_beat().argv)

    def _second_beat(self) -> Program:
        own = ["--schedule", str(self.home / "second-schedule")]
        return Program(name="second_beat", argv=[*stack.build_beat().argv, *own])

    def _start(self, program: Program) -> Program:
        argv = [*self.prefix, *program.argv]
        environment = {**self.environment(), **self.part_environment.get(program.name, {})}
        surrounded = Program(name=program.name, argv=argv, env=environment)
        self.running[program.name] = processes.start(surrounded, self.log(program.name))
        return program

    def _wait_until_ready(self, program: Program) -> None:
        process, log = self.running[program.name], self.log(program.name)
        processes.wait_until(lambda: process.poll() is not None or program.ready(), PATIENCE)
        assert process.poll() is None, f"{program.name} ended:\n{log.read_text()[-3000:]}"
        assert program.ready(), f"{program.name} is not ready:\n{log.read_text()[-3000:]}"

    def pids(self) -> dict[str, int]:
        """Return the pids of the parts that run."""
        return {name: part.pid for name, part in self.running.items() if part.poll() is None}

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a part and all its children."""
        os.killpg(self.running[name].pid, number)

    def kill(self, *names: str) -> None:
        """Kill parts and all their children."""
        for name in names:
            processes.kill_session(self.running.pop(name))

    def stop(self, name: str, most: float) -> float:
        """Stop a part as the supervisor does; return the seconds."""
        process = self.running.pop(name)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        process.wait(most)
        return time.monotonic() - began

    def command(self, *words: str) -> None:
        """Run a management command of the product."""
        command = [sys.executable, str(BASE / "manage.py"), *words]
        environment = {**os.environ, **self.environment()}
        result = subprocess.run(
            command, env=environment, check=False, capture_output=True, timeout=PATIENCE
        )
        assert result.returncode == 0, (result.stdout + result.stderr).decode()[-3000:]

    # --- Requests ---------------------------------------------------------------------------------

    def post(self, path: str, body: Any) -> Answer:
        return self.request("POST", path, body)

    def request(self, method: str, path: str, body: Any = None, **more: str) -> Answer:
        """Send a request on a connection of its own; `more` are headers.

        A path without a leading slash is below `/v1/`. A response that is not JSON has a text as
        its body.
        """
        began = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        headers |= {name.replace("_", "-"): value for name, value in more.items()}
        try:
            content = None if body is None else json.dumps(body)
            whole = path if path.startswith("/") else f"/v1/{path}"
            connection.request(method, whole, content, headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        seconds = time.monotonic() - began
        content = json.loads(text) if "json" in (answer.getheader("Content-Type") or "") else text
        return Answer(answer.status, content, seconds, dict(answer.getheaders()))

    def count_pending_embeddings(self) -> int:
        return int(self.request("GET", "health").body["pending_embeddings"])

    def provider(self, **behaviour: Any) -> None:
        """Configure the fake provider."""
        connection = http.client.HTTPConnection("127.0.0.1", self.provider_port, timeout=5)
        connection.request("POST", "/mode", json.dumps(behaviour))
        assert connection.getresponse().status == http.HTTPStatus.OK
        connection.close()

    def _web_answers(self) -> bool:
        try:
            return self.request("GET", "version").status == http.HTTPStatus.OK
        except OSError:
            return False

    # --- Jobs -------------------------------------------------------------------------------------

    def publish_jobs(
        self, account: UUID, topic: str, count: int, *, times: int = 1, **payload: Any
    ) -> Jobs:
        """Publish jobs of the default queue, and wake the worker by `times` copies of a message."""
        first = uuid7()
        new_jobs = [NewJob(job_key=f"{first}:{number}", payload=payload) for number in range(count)]
        with acting(account):
            events = publish(account, topic, new_jobs)
        self.wake_worker("default", times=times)
        return Jobs(self, account, events)

    def wake_worker(self, queue: str, *, times: int = 1) -> None:
        """Send `times` copies of one message to the worker."""
        task_id = str(uuid7())
        messenger = Celery(broker=env.broker(self.valkey.url()), set_as_current=False)
        with messenger.connection_for_write() as fresh:  # a pooled one may be to a killed broker
            for _copy in range(times):
                messenger.send_task(
                    "kmapp.outbox.tasks.deliver",
                    [queue],
                    queue=queue,
                    task_id=task_id,
                    connection=fresh,
                )

    def is_idle(self) -> bool:
        for account_id in account_ids():
            with acting(account_id):
                if Delivery.objects.of(account_id).open().exists():
                    return False
        return True


def _accepts(port: int) -> bool:
    """Return whether a process listens on this port of loopback."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
