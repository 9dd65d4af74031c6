"""Health, version, metrics, schema and docs."""

import errno
import os
import shelve
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import ANY
from uuid import UUID

import pytest
from celery import current_app
from django.core.cache import cache
from django.db import OperationalError
from django.test import Client
from structlog.testing import capture_logs

import kmapp
from kmapp.accounts.models import Account
from kmapp.api import health
from kmapp.api.health import HealthReport
from kmapp.celery import app
from kmapp.outbox import heartbeats
from kmapp.outbox.host_lock import HostLocks
from kmapp.runtime import beat_scheduler
from tests import makers

pytestmark = pytest.mark.urls("tests.kernel.api_views")


@pytest.fixture(autouse=True)
def alive() -> Iterator[None]:
    """Record heartbeats of a worker and a scheduler."""
    heartbeats._written.clear()  # noqa: SLF001
    heartbeats.record_heartbeat("worker")
    heartbeats.record_heartbeat("scheduler")
    yield
    cache.clear()


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> list[health.HealthPart]:
    """Return the registered health parts as a list that a test may extend."""
    parts = list(health._parts)  # noqa: SLF001
    monkeypatch.setattr(health, "_parts", parts)
    return parts


@pytest.mark.parametrize("path", ["/health", "/v1/health", "/v1/health/"])
def test_liveness_requires_no_key_or_database(client: Client, path: str) -> None:
    """No database mark on this test: pytest-django refuses any query."""
    before = time.time()
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.json() == {"ok": True, "status": "ok", "now": ANY}
    assert before <= answer.json()["now"] <= time.time()


@pytest.mark.parametrize("path", ["/v1/health", "/v1/version", "/v1/schema", "/v1/docs"])
def test_public_endpoints_accept_only_reads(client: Client, path: str) -> None:
    assert client.head(path).status_code == 200
    for method in (client.post, client.put, client.delete, client.options):
        assert method(path).status_code == 405


@pytest.mark.django_db
def test_health_with_any_valid_key_reports_every_component(
    client: Client, agent: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(health._figures, "whose", str)  # noqa: SLF001
    answer = agent.get("/v1/health")
    body = answer.json()
    assert (answer.status_code, body["ok"], body["status"]) == (200, True, "ok")
    for name in ("database", "broker", "worker", "scheduler", "embedder", "ledger"):
        assert body[name]["ok"] is True
    assert 0 <= body["worker"]["seen_seconds_ago"] < heartbeats.MAX_AGE_SECONDS
    assert body["whose"] == str(acme.pk)

    least = {"X-Api-Key": makers.key(acme, scopes=["memory:read"])[1]}
    assert "database" in client.get("/v1/health", headers=least).json()
    assert client.get("/v1/health", headers={"X-Api-Key": "km_no"}).status_code == 401

    cache.delete("pulse:worker")
    answer = agent.get("/v1/health")
    assert (answer.status_code, answer.json()["ok"]) == (200, False)
    assert answer.json()["status"] == "degraded"
    assert answer.json()["worker"] == {"ok": False, "seen_seconds_ago": None}


@pytest.mark.django_db
def test_unreachable_broker_degrades_health(agent: Client, without_valkey: None) -> None:
    answer = agent.get("/v1/health")
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    assert answer.json()["broker"] == {"ok": False}


@pytest.mark.django_db
def test_failing_essential_component_returns_503(
    agent: Client, part: list[health.HealthPart]
) -> None:
    def broken(_account_id: UUID) -> HealthReport:
        raise OSError("a secret path")

    part.append(health.HealthPart(name="disk", report=broken, essential=True))
    answer = agent.get("/v1/health")
    assert (answer.status_code, answer.json()["status"]) == (503, "down")
    assert answer.json()["disk"] == {"ok": False, "error": "OSError"}


def test_unreachable_database_returns_503(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_key: str) -> None:
        raise OperationalError

    monkeypatch.setattr("kmapp.accounts.authentication._find_principal", away)
    answer = client.get("/v1/health", headers={"X-Api-Key": "km_any"})
    assert (answer.status_code, answer.json()["status"]) == (503, "down")
    assert answer.json()["database"] == {"ok": False}


def test_celery_signals_update_heartbeats() -> None:
    from celery.signals import before_task_publish, heartbeat_sent

    cache.clear()
    heartbeats._written.clear()  # noqa: SLF001
    before_task_publish.send(sender="kmapp.outbox.tasks.deliver")
    assert heartbeats.get_heartbeat_age("scheduler") is None
    before_task_publish.send(sender="kmapp.outbox.tasks.sweep")
    heartbeat_sent.send(sender=None)
    assert heartbeats.get_heartbeat_age("scheduler") is not None
    assert heartbeats.get_heartbeat_age("worker") is not None


def test_scheduler_reports_while_no_worker_takes_messages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(beat_scheduler, "is_crowded", lambda _queue: True)
    cache.clear()
    heartbeats._written.clear()  # noqa: SLF001
    file = str(tmp_path / "schedule")
    scheduler = beat_scheduler.Scheduler(current_app, lazy=True, schedule_filename=file)
    assert scheduler.apply_async(SimpleNamespace(options={})) is None
    assert heartbeats.get_heartbeat_age("scheduler") is not None


def test_worker_and_scheduler_create_the_data_folder(settings: Any, tmp_path: Path) -> None:
    """A host that stores keys and checkpoints elsewhere starts without a data folder."""
    settings.DATA_DIR = tmp_path / "worker"
    with HostLocks() as locks:
        assert locks.acquire("heavy")
    settings.DATA_DIR = tmp_path / "beat"
    file = str(settings.DATA_DIR / "schedule")
    beat_scheduler.Scheduler(current_app, schedule_filename=file).close()
    assert list(settings.DATA_DIR.iterdir()) != []


def test_scheduler_stores_its_times_once_the_disk_has_space_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = str(tmp_path / "schedule")
    scheduler = beat_scheduler.Scheduler(app, schedule_filename=file)
    [(name, entry), *_others] = scheduler.schedule.items()
    entry.total_run_count = 7
    with monkeypatch.context() as full_disk:
        full_disk.setattr(shelve.Shelf, "__setitem__", refuse)
        scheduler.sync()
    scheduler.close()
    again = beat_scheduler.Scheduler(app, schedule_filename=file)
    assert again.schedule[name].total_run_count == 7
    again.close()


def test_scheduler_starts_while_the_disk_is_full(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It reports the disk once, and stores its times once there is space."""

    def refuse(*_args: Any, **_kwargs: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = str(tmp_path / "schedule")
    with monkeypatch.context() as full_disk, capture_logs() as lines:
        full_disk.setattr(shelve, "open", refuse)
        scheduler = beat_scheduler.Scheduler(app, schedule_filename=file)
        scheduler.sync()
    assert [each["event"] for each in lines if each["log_level"] == "error"] == [
        "schedule_not_opened"
    ]
    [(name, entry), *_others] = scheduler.schedule.items()
    entry.total_run_count = 7
    scheduler.sync()
    scheduler.close()
    again = beat_scheduler.Scheduler(app, schedule_filename=file)
    assert again.schedule[name].total_run_count == 7
    again.close()


def test_version_is_public(client: Client) -> None:
    assert client.get("/v1/version").json() == {
        "name": "kmapp",
        "version": kmapp.__version__,
        "api": "v1",
    }


@pytest.mark.django_db
def test_metrics_count_requests_by_route_and_status(agent: Client) -> None:
    agent.post("/v1/notes", {"text": "a"}, content_type="application/json")
    for method in ("BREW", "STEEP"):
        agent.generic(method, "/v1/notes")
    answer = agent.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/plain")
    text = answer.content.decode()
    assert 'kmapp_request_seconds_count{method="POST",route="v1/notes",status="201"}' in text
    assert "kmapp_embedding_lag_seconds" in text
    assert "kmapp_outbox_oldest_seconds" in text
    assert "kmapp_provider_seconds" in text
    assert 'method="other"' in text
    assert "BREW" not in text, "unknown methods share one label"


@pytest.mark.django_db
def test_metrics_require_an_admin_key_or_the_metrics_token(
    client: Client, acme: Account, settings: Any
) -> None:
    reader = makers.key(acme, scopes=["debug"])[1]
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 401
    assert client.get("/metrics", headers={"X-Api-Key": reader}).status_code == 403
    settings.METRICS_TOKEN = "scrape-me"
    token = {"Authorization": "Bearer scrape-me"}
    assert client.get("/metrics", headers=token).status_code == 200
    assert client.get("/v1/notes?text=a", headers=token).status_code == 401


def test_schema_describes_keys_scopes_errors_and_idempotency(client: Client) -> None:
    answer = client.get("/v1/schema")
    assert answer.status_code == 200
    schema = answer.json()
    assert schema["openapi"].startswith("3.1")
    assert schema["components"]["securitySchemes"].keys() == {"bearer", "apiKey"}
    post = schema["paths"]["/v1/notes"]["post"]
    assert post["operationId"] == "notes"
    assert {"bearer": []} in post["security"]
    assert "memory:write" in post["description"]
    assert [each["name"] for each in post["parameters"]] == ["Idempotency-Key"]
    assert {"201", "400", "401", "403", "429", "default"} <= post["responses"].keys()
    error = post["responses"]["default"]["content"]["application/json"]["schema"]
    assert error == {"$ref": "#/components/schemas/Error"}
    assert set(schema["components"]["schemas"]["Error"]["properties"]) == {
        "status",
        "error",
        "message",
        "detail",
        "details",
        "issues",
    }
    assert not [path for path in schema["paths"] if path.endswith("/")]


def test_docs_use_local_files_under_the_strict_csp(client: Client) -> None:
    answer = client.get("/v1/docs")
    assert answer.status_code == 200
    page = answer.content.decode()
    assert "//" not in page.replace("<!doctype html>", "")
    assert "<style" not in page
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
