"""The public status page."""

from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.db import OperationalError, connection
from django.test import Client
from pytest_django import DjangoAssertNumQueries as MaxQueries

from kmapp.outbox import heartbeats
from kmapp.web.views import status
from tests.web.pages import page

JSON = {"Accept": "application/json"}


@pytest.fixture(autouse=True)
def _fresh(db: None) -> Iterator[None]:
    status.recent.clear()
    heartbeats.delete_heartbeat("worker")
    yield
    heartbeats.delete_heartbeat("worker")
    status.recent.clear()


def test_everything_works(client: Client) -> None:
    cache.set("pulse:worker", 1, 60)
    answer = client.get("/status", headers=JSON)
    body = answer.json()
    assert (answer.status_code, body["status"]) == (200, "ok")
    assert body["parts"] == dict.fromkeys(["web", "database", "cache", "workers"], "ok")
    assert "All systems operational" in page(client.get("/status"))


def test_without_workers_it_is_degraded(client: Client) -> None:
    answer = client.get("/status", headers=JSON)
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    assert answer.json()["parts"]["workers"] == "degraded"
    assert "Some parts do not respond" in page(client.get("/status"))


def test_without_the_database_it_is_down(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OperationalError("no password here")

    with monkeypatch.context() as patch:
        patch.setattr(connection, "cursor", refuse)
        answer = client.get("/status", headers=JSON)
        assert "kmapp is down" in page(client.get("/status"), 503)
    assert (answer.status_code, answer.json()["status"]) == (503, "down")
    assert int(answer.headers["Retry-After"]) > 0
    assert "password" not in answer.content.decode()


def test_many_requests_check_once(client: Client, max_queries: MaxQueries) -> None:
    with max_queries(1):
        for _request in range(20):
            assert client.get("/status", headers=JSON).status_code == 200


def test_only_reading(client: Client) -> None:
    assert client.post("/status").status_code == 405
