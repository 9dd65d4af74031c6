"""PostgreSQL and Valkey over TLS, verified by the parameters of their URLs."""

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from celery import Celery
from django.conf import settings
from django.db import connection, connections
from kombu.exceptions import OperationalError
from redis import Redis
from redis.exceptions import ConnectionError as Unreachable

from kmapp.management.doctor.configuration import check_encryption
from kmapp.runtime import embedded, env
from kmapp.runtime.cache_backend import ValkeyCache
from kmapp.runtime.embedded import ROLES
from tests import makers
from tests.fake_provider import FakeProvider
from tests.tls_server import make_certificate, terminate_tls

REMOTE = "postgres://app@db.test/kmapp"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return make_certificate(tmp_path, "localhost")


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return make_certificate(tmp_path, "other.test")


@pytest.fixture
def database_port(certificate: Path) -> Iterator[int]:
    target = embedded.get_postgres_sockets(settings.DATA_DIR) / ".s.PGSQL.5432"
    with terminate_tls(target, certificate, postgres=True) as port:
        yield port


@pytest.fixture
def valkey_port(certificate: Path) -> Iterator[int]:
    target = embedded.get_valkey_socket(settings.DATA_DIR)
    with terminate_tls(target, certificate, postgres=False) as port:
        yield port


def database(port: int, certificate: Path, host: str = "localhost") -> dict[str, Any]:
    query = f"sslmode=verify-full&sslrootcert={certificate}"
    return env.database(f"postgres://{ROLES['app']}@{host}:{port}/postgres?{query}")


def test_api_works_over_verified_tls(
    committed: str,
    provider: FakeProvider,
    database_port: int,
    certificate: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = database(database_port, certificate)
    entries: list[Any] = [connection.settings_dict, settings.DATABASES["default"]]
    for entry in entries:
        monkeypatch.setitem(entry, "HOST", there["HOST"])
        monkeypatch.setitem(entry, "PORT", there["PORT"])
        monkeypatch.setitem(entry, "OPTIONS", {**entry["OPTIONS"], **there["OPTIONS"]})
    connections["default"].close()
    agent = makers.agent(makers.account("Acme"))
    agent.store("The key lies under the mat", user_id="ann")
    assert len(agent.search("Where is the key?", user_id="ann")) == 1
    assert connection.connection.pgconn.ssl_in_use
    connections["default"].close()


def test_database_with_another_certificate_or_name_is_refused(
    database_port: int, certificate: Path, other: Path
) -> None:
    entries = {
        "certificate verify failed": database(database_port, other),
        "does not match host name": database(database_port, certificate, host="127.0.0.1"),
    }
    for message, entry in entries.items():
        with pytest.raises(psycopg.OperationalError, match=message):
            psycopg.connect(**env.address(entry), connect_timeout=20)


def test_cache_and_broker_use_verified_tls(
    valkey_port: int, certificate: Path, other: Path
) -> None:
    url = f"rediss://localhost:{valkey_port}/0"
    trusted, untrusted = (f"{url}?ssl_ca_certs={file}" for file in (certificate, other))
    assert ValkeyCache(trusted, {}).ping()
    with Redis.from_url(untrusted) as client, pytest.raises(Unreachable, match="verify failed"):
        client.ping()
    with Celery(broker=env.broker(trusted), set_as_current=False).connection_for_write() as broker:
        broker.ensure_connection(max_retries=1, timeout=20)
    with (
        Celery(broker=env.broker(untrusted), set_as_current=False).connection_for_write() as broker,
        pytest.raises(OperationalError, match="verify failed"),
    ):
        broker.ensure_connection(max_retries=1, timeout=20)


def test_broker_uses_tls_although_its_url_names_no_certificate() -> None:
    with Celery(
        broker=env.broker("rediss://cache.test/0"), set_as_current=False
    ).connection_for_write() as broker:
        assert broker.ssl == {"ssl_cert_reqs": ssl.CERT_REQUIRED}


@pytest.mark.parametrize(
    ("database_url", "redis_url", "message"),
    [
        ("postgres://app@/kmapp?host=/run/pg", "unix:///run/valkey.sock", ""),
        ("postgres://app@127.0.0.1/kmapp", "redis://localhost:6379/0", ""),
        (f"{REMOTE}?sslmode=verify-full", "rediss://cache.test:6379/0", ""),
        (REMOTE, "unix:///run/v", "DATABASE_URL does not verify db.test (sslmode=prefer)"),
        (f"{REMOTE}?sslmode=require", "unix:///run/v", "DATABASE_URL does not verify db.test"),
        ("postgres://app@/kmapp", "redis://cache.test/0", "does not encrypt the connection to"),
        ("postgres://app@/kmapp", "rediss://cache.test/0?ssl_cert_reqs=none", "does not verify"),
    ],
)
def test_doctor_warns_of_servers_that_are_not_verified(
    database_url: str, redis_url: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "DATABASES", {"default": env.database(database_url)})
    monkeypatch.setattr(settings, "REDIS_URL", redis_url)
    [finding] = check_encryption()
    assert message in finding.message
    assert finding.level == ("WARNING" if message else "OK")
