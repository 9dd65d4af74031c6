"""The processes that `manage.py up` starts, and its errors."""

import shlex
import shutil
import socket
from collections import defaultdict
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pytest
from django.conf import settings as project
from django.core.management import CommandError, call_command
from django.db import OperationalError
from psycopg.errors import LockNotAvailable
from pytest_django import Settings

from kmapp.accounts.actions import bootstrap
from kmapp.accounts.models import account_ids
from kmapp.management.commands import prepare
from kmapp.management.commands.up import GREETING
from kmapp.runtime import embedded, stack
from kmapp.runtime.processes import CannotStart
from tests.fresh_settings import load_settings


def names() -> list[list[str]]:
    return [[type(part).__name__ for part in stage] for stage in stack.list_parts()]


@pytest.fixture(autouse=True)
def own_folder(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Use a folder and an environment other than those of the tests."""
    settings.DATA_DIR = tmp_path
    for name in ("DATABASE_URL", "REDIS_URL", "EMBEDDING_BATCH_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    yield
    shutil.rmtree(embedded.get_runtime_dir(tmp_path), ignore_errors=True)


def test_greeting_stores_a_memory_like_the_readme() -> None:
    path = "/v1/memory/store"
    assert path in (project.BASE_DIR / "README.md").read_text(encoding="utf-8")
    assert path in GREETING.format_map(defaultdict(int))


def test_services_are_embedded_unless_configured(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert names() == [["Postgres"], ["Valkey"], ["EmbeddingServer", "EmbeddingServer"]]
    monkeypatch.setenv("DATABASE_URL", "postgresql://kmapp_app@db.example/kmapp")
    assert names() == [["Valkey"], ["EmbeddingServer", "EmbeddingServer"]]
    monkeypatch.setenv("REDIS_URL", "redis://cache.example/0")
    assert names() == [["EmbeddingServer", "EmbeddingServer"]]
    monkeypatch.setenv("EMBEDDING_BATCH_BASE_URL", "https://models.example/v1")
    assert names() == [["EmbeddingServer"]]
    settings.EMBEDDING_IS_EMBEDDED = False
    assert names() == []


def test_postgres_archives_for_point_in_time_recovery_only(settings: Settings) -> None:
    settings.PITR_DAYS = 0
    assert stack.build_postgres().archive is None
    settings.PITR_DAYS = 7
    assert stack.build_postgres().archive == settings.BACKUPS_DIR / "pitr"


@pytest.mark.parametrize(
    ("variables", "model", "host"),
    [
        ({}, "text-embedding-3-small", "chat.example"),
        ({"EMBEDDING_BASE_URL": "http://tei.example/v1"}, "text-embedding-3-small", "tei.example"),
        ({"EMBEDDING_BASE_URL": "embedded"}, "multilingual-e5-small", "127.0.0.1"),
    ],
)
def test_embedded_embedder_works_with_an_external_chat_model(
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    variables: dict[str, str],
    model: str,
    host: str,
) -> None:
    everything = {"KMAPP_DATA_DIR": str(tmp_path), "OPENAI_BASE_URL": "http://chat.example/v1"}
    for name, value in {**everything, **variables}.items():
        monkeypatch.setenv(name, value)
    read = load_settings()
    assert read["EMBEDDING_MODEL"] == model
    assert urlsplit(read["EMBEDDING_BASE_URL"]).hostname == host
    assert urlsplit(read["EMBEDDING_BATCH_BASE_URL"]).hostname == host
    assert read["EMBEDDING_IS_EMBEDDED"] == (host == "127.0.0.1")
    assert read["OPENAI_BASE_URL"] == "http://chat.example/v1"


def test_the_procfile_runs_what_up_runs(settings: Settings) -> None:
    lines = (settings.BASE_DIR / "Procfile").read_text().splitlines()
    entries = dict(line.split(": ", 1) for line in lines)
    for program in (stack.build_web(), stack.build_worker(), stack.build_beat(), stack.build_mcp()):
        assert shlex.split(entries[program.name]) == ["python", *program.argv[1:]]


def test_processes_that_serve_do_not_get_the_password_of_the_superuser() -> None:
    programs = [stack.build_web(), stack.build_worker(), stack.build_beat(), stack.build_mcp()]
    assert {program.env["DATABASE_SUPERUSER_URL"] for program in programs} == {""}
    assert "DATABASE_SUPERUSER_URL" not in stack.build_command("prepare").env


def test_an_occupied_port_is_reported_with_the_setting_that_changes_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(CannotStart, match=rf"Port {port} .* PORT={port + 100} make up"):
            stack.check_port("PORT", "127.0.0.1", port)
    stack.check_port("PORT", "127.0.0.1", port)


@pytest.mark.parametrize(
    ("status", "body", "complaint"),
    [
        (200, '{"status": "ok"}', ""),
        (200, '{"status": "degraded"}', '{"status": "degraded"}'),
        (503, '{"status": "ok"}', '{"status": "ok"}'),
    ],
)
def test_health_check_uses_an_allowed_host(
    settings: Settings, status: int, body: str, complaint: str
) -> None:
    hosts: list[str | None] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hosts.append(self.headers["Host"])
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None: ...

    settings.ALLOWED_HOSTS = [".memory.example"]
    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        settings.HOST, settings.PORT = "0.0.0.0", server.server_port  # noqa: S104 - not bound here
        answering = Thread(target=server.handle_request)
        answering.start()
        assert stack.find_health_problem() == complaint
        answering.join()
    assert hosts == ["memory.example"]
    assert "refused" in stack.find_health_problem()


def test_an_external_database_without_its_owner_is_explained(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KMAPP_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("DATABASE_URL", "postgresql://kmapp_app:secret@db.example/kmapp")
    read = load_settings()
    assert read["DATABASES"].keys() == {"default"}
    monkeypatch.setattr(project, "DATABASES", read["DATABASES"])
    with pytest.raises(CommandError, match="DATABASE_OWNER_URL is not") as refused:
        call_command("up")
    assert "manage.py provision --url" in str(refused.value)


def test_a_migration_that_gets_no_lock_does_not_blame_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse_lock(name: str, **_options: object) -> None:
        if name == "migrate":
            raise OperationalError("canceling statement due to lock timeout") from LockNotAvailable

    monkeypatch.setattr(prepare, "call_command", refuse_lock)
    with pytest.raises(CommandError, match=r"\Acanceling statement due to lock timeout\Z"):
        prepare.Command().handle()


def test_scrub_asks_for_the_superuser_before_it_rewrites_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def rewrite(*_arguments: object) -> None:
        raise AssertionError("It may take hours.")

    monkeypatch.setenv("DATABASE_URL", "postgresql://kmapp_app:secret@db.example/kmapp")
    monkeypatch.delenv("DATABASE_SUPERUSER_URL", raising=False)
    monkeypatch.setattr("kmapp.management.commands.scrub.rewrite_tables", rewrite)
    with pytest.raises(CommandError, match="Enter the superuser URL"):
        call_command("scrub")


@pytest.mark.django_db
def test_an_interrupted_first_start_can_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(**_options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr("kmapp.accounts.actions.issue_key", interrupt)
        with pytest.raises(KeyboardInterrupt):
            bootstrap()
    assert account_ids() == []
    result = bootstrap()
    assert result is not None
    assert account_ids() == [result.account.pk]
    assert bootstrap() is None
