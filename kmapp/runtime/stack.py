"""The processes of `manage.py up`, derived from the settings."""

import errno
import json
import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from pathlib import Path

from django.conf import settings

from kmapp.database.ids import uuid7
from kmapp.runtime import embedded, env
from kmapp.runtime.embedded.embedded_server import (
    EmbeddedServer,
    make_owned_dir,
    make_runtime_dir,
)
from kmapp.runtime.embedded.embedding_server import EmbeddingServer
from kmapp.runtime.embedded.postgres import Postgres
from kmapp.runtime.embedded.valkey import Valkey
from kmapp.runtime.metrics_files import get_metrics_folder
from kmapp.runtime.processes import CannotStart, Program, http_get, lock
from kmapp.runtime.readiness_file import VARIABLE

# Quiet, because a process that prints its banner to a log on a full disk would end.
CELERY = ("celery", "-A", "kmapp", "--quiet")
QUEUES = "default,embedding,extraction,clustering,sweep"
BACKLOG = 2048  # connections that wait while a process is replaced or restarted


def list_parts() -> list[list[EmbeddedServer]]:
    """Return the embedded parts that no setting replaces, in starting order."""
    data: Path = settings.DATA_DIR
    logs = data / "logs"
    make_runtime_dir(embedded.get_runtime_dir(data))
    stages: list[list[EmbeddedServer]] = []
    if not env.text("DATABASE_URL"):
        stages.append([build_postgres()])
    if not env.text("REDIS_URL"):
        socket_path = embedded.get_valkey_socket(data)
        stages.append([Valkey(data / "valkey", socket_path, logs / "valkey.log")])
    if embedders := _list_embedders(logs):
        stages.append(embedders)
    return stages


def build_postgres() -> Postgres:
    data: Path = settings.DATA_DIR
    return Postgres(
        data / "postgres",
        embedded.get_postgres_sockets(data),
        data / "logs" / "postgres.log",
        archive=settings.BACKUPS_DIR / "pitr" if settings.PITR_DAYS else None,
    )


@contextmanager
def database_server() -> Iterator[None]:
    """Provide the database for one command; start the embedded one if it does not run."""
    server = build_postgres()
    if env.text("DATABASE_URL") or server.responds():
        yield
        return
    with locked_data_folder(), server:
        yield


@contextmanager
def locked_data_folder() -> Iterator[None]:
    """Hold the data folder for one command, while kmapp does not run."""
    data: Path = settings.DATA_DIR
    make_runtime_dir(embedded.get_runtime_dir(data))
    (data / "logs").mkdir(mode=0o700, parents=True, exist_ok=True)
    with lock(data):
        if build_postgres().responds():
            raise CannotStart(f"The PostgreSQL of {data} still runs. Stop it first.")
        yield


def may_provision() -> bool:
    return not env.text("DATABASE_URL") or bool(env.text("DATABASE_SUPERUSER_URL"))


def _list_embedders(logs: Path) -> list[EmbeddedServer]:
    if not settings.EMBEDDING_IS_EMBEDDED:
        return []
    queries = settings.EMBEDDER_QUERY_PORT, logs / "embedder-query.log", "embedder-query"
    batches = settings.EMBEDDER_BATCH_PORT, logs / "embedder-batch.log", "embedder-batch"
    if env.text("EMBEDDING_BATCH_BASE_URL"):
        return [EmbeddingServer(*queries)]
    return [EmbeddingServer(*queries), EmbeddingServer(*batches, low_priority=True)]


def build_web(listener: socket.socket | None = None) -> Program:
    """Return the web server; on this socket, or on one of its own."""
    arguments = ["gunicorn", "-c", "python:kmapp.runtime.gunicorn_config"]
    program = _build_module_program("web", *arguments, ready=_responds)
    if listener is None:
        return program
    number = listener.fileno()
    environment = {**program.env, "WEB_DESCRIPTOR": str(number)}
    return replace(program, env=environment, descriptors=[number])


def build_mcp(listener: socket.socket | None = None) -> Program:
    address = ["--host", settings.HOST, "--port", str(settings.MCP_PORT)]
    options = ["--no-access-log", "--log-level", "warning", "--lifespan", "on"]
    options += ["--no-proxy-headers"]  # NUM_PROXIES decides which addresses count
    arguments = ["uvicorn", "interop.mcp.asgi:application", *address, *options]
    program = _build_module_program(
        "mcp", *arguments, ready=partial(_accepts_connections, settings.MCP_PORT)
    )
    if listener is None:
        return program
    number = listener.fileno()
    return replace(program, argv=[*program.argv, "--fd", str(number)], descriptors=[number])


def build_worker() -> Program:
    options = ["-c", "2", "-Q", QUEUES, "--without-gossip", "--without-mingle"]
    return _build_module_program("worker", *CELERY, "worker", *options)


def build_beat() -> Program:
    program = _build_module_program("beat", *CELERY, "beat")
    return replace(program, is_exclusive=True)  # one scheduler at a time may use the schedule file


def build_successor(program: Program) -> Program:
    """Return a program that announces that it can serve, because its port is already served."""
    if program.is_exclusive:
        return program
    folder: Path = settings.DATA_DIR / "ready"
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder / f"{program.name}-{uuid7()}"
    return replace(program, ready=file.exists, env={**program.env, VARIABLE: str(file)})


def _build_module_program(
    name: str, *words: str, ready: Callable[[], bool] = lambda: True
) -> Program:
    argv = [sys.executable, "-m", *words]
    # Only `prepare` needs the superuser; processes that serve must not know the password.
    environment = {**_build_environment(), "DATABASE_SUPERUSER_URL": ""}
    return Program(name=name, argv=argv, ready=ready, env=environment, grace=30)


def build_command(*words: str) -> Program:
    argv = [sys.executable, "-m", "kmapp", *words]
    return Program(name=words[0], argv=argv, env=_build_environment())


@contextmanager
def temporary_folders() -> Iterator[None]:
    """Provide an empty folder for metrics: counters of former processes would be added to them."""
    data: Path = settings.DATA_DIR
    _delete_temporary_folders()
    make_runtime_dir(embedded.get_runtime_dir(data))
    make_owned_dir(get_metrics_folder(data))
    try:
        yield
    finally:
        _delete_temporary_folders()


def _delete_temporary_folders() -> None:
    for folder in (settings.DATA_DIR / "ready", get_metrics_folder(settings.DATA_DIR)):
        shutil.rmtree(folder, ignore_errors=True)


def check_ports() -> None:
    """Raise CannotStart with the setting to change if a port is in use."""
    ports = [("PORT", settings.HOST, settings.PORT)]
    if settings.MCP_PORT:
        ports.append(("MCP_PORT", settings.HOST, settings.MCP_PORT))
    if settings.EMBEDDING_IS_EMBEDDED:
        ports.append(("EMBEDDER_QUERY_PORT", "127.0.0.1", settings.EMBEDDER_QUERY_PORT))
        if not env.text("EMBEDDING_BATCH_BASE_URL"):
            ports.append(("EMBEDDER_BATCH_PORT", "127.0.0.1", settings.EMBEDDER_BATCH_PORT))
    for variable, host, port in ports:
        check_port(variable, host, port)


def check_port(variable: str, host: str, port: int) -> None:
    _bind(variable, host, port).close()


def listen(variable: str, port: int) -> socket.socket:
    """Return a listening socket, which processes inherit and hand over to their successors."""
    listener = _bind(variable, settings.HOST, port)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections inherit it
    listener.listen(BACKLOG)
    return listener


def _bind(variable: str, host: str, port: int) -> socket.socket:
    family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    bound = socket.socket(family, kind)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind(address)
    except OSError as error:
        bound.close()
        in_use = error.errno == errno.EADDRINUSE
        why = "is in use by another program" if in_use else f"cannot be used ({error.strerror})"
        raise CannotStart(
            f"Port {port} on {host} {why}."
            f" Choose another, for example: {variable}={port + 100} "
            + ("kmapp up" if settings.IS_INSTALLED else "make up")
        ) from None
    return bound


def find_health_problem() -> str:
    """Return what is wrong according to /v1/health, or an empty string."""
    try:
        status, body = _get_health()
    except OSError as error:
        return str(error)
    well = status == HTTPStatus.OK and json.loads(body).get("status") == "ok"
    return "" if well else body.decode()


def build_url(port: int | None = None) -> str:
    """Return the URL of a port on this machine; by default of the pages and the API."""
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(settings.HOST, settings.HOST)  # noqa: S104
    return f"http://{host}:{port or settings.PORT}"


def _responds() -> bool:
    with suppress(OSError):
        _get_health()
        return True
    return False


def _accepts_connections(port: int) -> bool:
    host = build_url().removeprefix("http://").rpartition(":")[0].strip("[]")
    with suppress(OSError), socket.create_connection((host, port), timeout=1):
        return True
    return False


def _get_health() -> tuple[int, bytes]:
    # Django answers 400 to other host names.
    allowed = settings.ALLOWED_HOSTS[0].lstrip(".") if settings.ALLOWED_HOSTS else "localhost"
    host, _, port = build_url().removeprefix("http://").rpartition(":")
    headers = {"Host": allowed.replace("*", "localhost")}
    return http_get(host.strip("[]"), int(port), "/v1/health", seconds=5, headers=headers)


def _build_environment() -> dict[str, str]:
    above = os.environ.get("PYTHONPATH", "")
    return {
        "KMAPP_DATA_DIR": str(settings.DATA_DIR),
        "PROMETHEUS_MULTIPROC_DIR": str(get_metrics_folder(settings.DATA_DIR)),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(settings.BASE_DIR), above])),
        "PYTHONUNBUFFERED": "1",
    }
