"""Point-in-time recovery of the embedded PostgreSQL, and retention of its base backups."""

import gzip
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings as project
from django.core.management import CommandError
from django.db import connections
from pytest_django import DjangoDbBlocker, Settings

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import revoke_key
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.management.doctor.storage import check_archive
from kmapp.runtime import embedded
from kmapp.runtime.embedded import base_backups
from kmapp.runtime.embedded.base_backups import BaseBackup, delete_old_backups
from kmapp.runtime.embedded.embedded_server import make_runtime_dir
from kmapp.runtime.embedded.postgres import Postgres
from kmapp.runtime.embedded.recovery import choose_base_backup
from kmapp.runtime.processes import CannotStart, wait_until
from memory.models import MemoryEntry
from tests import makers
from tests.databases import TEMPLATE
from tests.makers import run_command

pytestmark = pytest.mark.promise(30, 44)


@pytest.fixture
def server(
    settings: Settings, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[Postgres]:
    """Run a copy of the tests' cluster in a data folder of its own, with an archive."""
    session = Postgres(
        project.DATA_DIR / "postgres",
        embedded.get_postgres_sockets(project.DATA_DIR),
        Path(os.devnull),
    )
    with ExitStack() as stack:
        place = Path(tempfile.mkdtemp(prefix="kmapp-", dir=project.DATA_DIR))
        stack.callback(shutil.rmtree, place)
        place.chmod(0o711)
        (place / "logs").mkdir()
        make_runtime_dir(embedded.get_runtime_dir(place))
        stack.callback(shutil.rmtree, embedded.get_runtime_dir(place))
        settings.DATA_DIR, settings.BACKUPS_DIR = place, place / "backups"
        settings.PITR_DAYS = 7
        copy = place / "postgres"
        with psycopg.connect(session.url(), autocommit=True) as there:
            there.execute("CHECKPOINT")
        base_backups.run_postgres_program(
            "pg_basebackup", f"--dbname={session.url()}", f"--pgdata={copy}", "--checkpoint=fast"
        )
        server = Postgres(
            copy,
            embedded.get_postgres_sockets(place),
            place / "logs" / "postgres.log",
            durable=False,
            archive=place / "backups" / "pitr",
        )
        stack.callback(_use_sockets, connections["default"].settings_dict["HOST"])
        stack.enter_context(django_db_blocker.unblock())
        stack.enter_context(server)
        with psycopg.connect(server.url(), autocommit=True) as there:
            there.execute(f"CREATE DATABASE kmapp TEMPLATE {TEMPLATE} OWNER kmapp_owner")
        stack.callback(_use_database, connections["default"].settings_dict["NAME"])
        _use_sockets(str(server.sockets))
        _use_database("kmapp")
        stack.callback(connections.close_all)
        yield server


def _use_sockets(host: str) -> None:
    _change_connections("HOST", host)


def _use_database(name: str) -> None:
    _change_connections("NAME", name)


def _change_connections(setting: str, value: str) -> None:
    connections.close_all()
    for alias in ("default", "owner"):
        for entry in (connections[alias].settings_dict, project.DATABASES[alias]):
            entry[setting] = value


def texts(account: Account) -> set[str]:
    with acting(account):
        return set(MemoryEntry.objects.of(account).values_list("content", flat=True))


def now(server: Postgres) -> datetime:
    with psycopg.connect(server.url()) as there:
        row = there.execute("SELECT clock_timestamp()").fetchone()
    assert row
    return datetime.fromisoformat(str(row[0]))


@pytest.fixture
def pool(server: Postgres) -> Iterator[None]:
    """Use a connection pool, as in production; it may return connections of a stopped server."""
    default: Any = connections["default"]
    default.close()
    default.settings_dict["OPTIONS"]["pool"] = {"min_size": 0, "max_size": 2, "timeout": 10}
    yield
    default.close()
    default.close_pool()
    del default.settings_dict["OPTIONS"]["pool"]


def test_restores_a_moment(server: Postgres, pool: None) -> None:
    account = makers.account("Acme")
    makers.write(account, "Tea at nine.")
    early = now(server)
    other = Path(project.BACKUPS_DIR, "pitr", "1", "wal")  # of a cluster that was replaced
    other.mkdir(parents=True)
    add_base_backup(other, early, segment=1)
    assert "there is no base backup" in next(iter(check_archive())).message
    shutil.rmtree(other.parent)
    run_command("checkpoint")
    assert "older ones deleted: 0" in run_command("base_backup")
    [coffee] = makers.write(account, "Coffee at ten.")
    key, _secret = makers.key(account)
    moment = now(server)
    makers.write(account, "A mistake at eleven.")
    makers.agent(account).erase(id=str(coffee.pk))
    assert texts(account) == {"Tea at nine.", "A mistake at eleven."}
    with acting(account):
        revoke_key(key, actor=SYSTEM)
    assert next(iter(check_archive())).level == "OK"
    with pytest.raises(CommandError, match="still runs"):
        run_command("restore", until="latest")
    connections.close_all()
    server.stop()
    for until, refusal in (
        ("soon", "is not a time"),
        ((moment + timedelta(days=1)).isoformat(), "has not come yet"),
        (early.isoformat(), "an earlier time cannot be restored"),
    ):
        with pytest.raises(CommandError, match=refusal):
            run_command("restore", until=until)
    output = run_command("restore", until=moment.isoformat())
    assert f"Restoring the state of {moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" in output
    assert "all as sealed" in output
    [former] = Path(project.DATA_DIR).glob("postgres.before-*")
    assert str(former) in output
    assert f"acme: API key test key (km_{key.prefix}_…): in use again, was revoked" in output
    with running(server):
        assert texts(account) == {"Tea at nine.", "Coffee at ten."}


def test_restored_backup_is_compared_with_the_former_data(server: Postgres, tmp_path: Path) -> None:
    account = makers.account("Acme")
    makers.write(account, "Tea at nine.")
    key, _secret = makers.key(account)
    run_command("checkpoint")
    file, former = tmp_path / "kmapp.zip", server.data.with_name("postgres.moved")
    run_command("backup", file)
    with acting(account):
        revoke_key(key, actor=SYSTEM)
    connections.close_all()
    server.stop()
    with pytest.raises(CommandError, match="is the folder to restore into"):
        run_command("restore", file, former=server.data)
    server.data.rename(former)
    with pytest.raises(CommandError, match="is not a data folder"):
        run_command("restore", file, former=server.data)
    output = run_command("restore", file, former=former)
    assert "all as sealed" in output
    assert f"acme: API key test key (km_{key.prefix}_…): in use again, was revoked" in output
    with running(server):
        assert texts(account) == {"Tea at nine."}


@pytest.mark.long
def test_recovers_what_was_not_archived_and_continues_after_a_recovery(server: Postgres) -> None:
    account = makers.account("Acme")
    run_command("base_backup")
    [wal] = Path(project.BACKUPS_DIR, "pitr").glob("*/wal")
    makers.write(account, "In an archived segment.")
    with psycopg.connect(server.url(), autocommit=True) as there:
        _archive_segment(there, wal)
        wal.chmod(0o500)
        makers.write(account, "In an unarchived segment.")
        there.execute("SELECT pg_switch_wal()")
        assert wait_until(lambda: "cannot be archived" in next(iter(check_archive())).message, 60)
        makers.write(account, "In the last segment.")
        there.execute("CHECKPOINT")  # this server does not flush at each commit
    connections.close_all()
    assert server.process
    server.process.kill()  # the last two segments are not archived
    server.stop()
    wal.chmod(0o700)
    with pytest.raises(CommandError, match="No archived transaction is later"):
        run_command("restore", until=datetime.now(UTC).isoformat())
    assert not (Path(project.DATA_DIR) / "postgres.restored").exists()
    run_command("restore", until="latest")
    written = {"In an archived segment.", "In an unarchived segment.", "In the last segment."}
    with running(server):
        assert texts(account) == written
        makers.write(account, "On the new timeline.")
    run_command("restore", until="latest")
    with running(server):
        assert texts(account) == {*written, "On the new timeline."}


def _archive_segment(there: psycopg.Connection[Any], wal: Path) -> None:
    [(name,)] = there.execute("SELECT pg_walfile_name(pg_switch_wal())")
    deadline = time.monotonic() + 60
    while not (wal / f"{name}.gz").exists():
        assert time.monotonic() < deadline, "PostgreSQL does not archive"
        time.sleep(0.05)


@contextmanager
def running(server: Postgres) -> Iterator[None]:
    with server:
        yield
        connections.close_all()


def add_base_backup(wal: Path, ended: datetime, segment: int, timeline: int = 1) -> BaseBackup:
    backup = BaseBackup(wal.with_name(ended.strftime(base_backups.NAME)), ended)
    backup.folder.mkdir()
    lsn = f"{segment >> 8:X}/{(segment & 255) << 24 | 40:X}"
    wal_range = {"Timeline": timeline, "Start-LSN": lsn, "End-LSN": lsn}
    manifest = json.dumps({"WAL-Ranges": [wal_range]})
    (backup.folder / "backup_manifest").write_text(manifest)
    return backup


def add_timeline(wal: Path, begins: str) -> None:
    """Add the history file of timeline 2, which starts at this WAL position."""
    history = f"1\t{begins}\tbefore 2026-11-25 14:30:00.000000+00\n"
    (wal / "00000002.history.gz").write_bytes(gzip.compress(history.encode()))


def test_base_backups_that_a_recovery_gave_up_are_not_used(tmp_path: Path) -> None:
    """PostgreSQL refuses them, because the newest timeline branched off before they were taken."""
    wal = tmp_path / "pitr" / "1" / "wal"
    wal.mkdir(parents=True)
    today = datetime.now(UTC)
    first = add_base_backup(wal, today - timedelta(days=9), segment=5)
    undone = add_base_backup(wal, today - timedelta(days=5), segment=20)
    newest = add_base_backup(wal, today - timedelta(days=2), segment=12, timeline=2)
    add_timeline(wal, "0/A000000")
    root = wal.parent.parent
    assert choose_base_backup(root, None) == newest
    assert choose_base_backup(root, today - timedelta(days=3)) == first
    assert delete_old_backups(wal.parent, 4, today) == []
    assert first.folder.exists()
    # docs/operations.md describes how to return to what the recovery undid.
    newest.folder.rename(tmp_path / "moved")
    (wal / "00000002.history.gz").rename(tmp_path / "00000002.history.gz")
    assert choose_base_backup(root, None) == undone


def test_base_backups_are_retained_while_a_moment_needs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last base backup before the period stays with its segments; older ones are deleted."""
    wal = tmp_path / "pitr" / "1" / "wal"
    wal.mkdir(parents=True)
    today = datetime.now(UTC)
    for days, segment in ((30, 2), (9, 5)):
        add_base_backup(wal, today - timedelta(days=days), segment)
    newest = add_base_backup(wal, today - timedelta(days=2), segment=300)
    for name in ("02", "04", "05", "06"):
        (wal / f"0000000100000000000000{name}.gz").write_bytes(gzip.compress(b""))
    add_timeline(wal, "1/2D000000")
    assert delete_old_backups(wal.parent, 7, today - timedelta(days=25)) == []
    [deleted] = delete_old_backups(wal.parent, 7, today)
    assert deleted.ended == today - timedelta(days=30)
    assert sorted(path.name[-5 - 2 : -3] for path in wal.glob("0*[0-9].gz")) == ["0005", "0006"]
    assert (wal / "00000002.history.gz").exists()
    root = wal.parent.parent
    assert newest.first_segment() == "00000001000000010000002C"
    assert choose_base_backup(root, None) == newest
    assert choose_base_backup(root, today - timedelta(days=5)).ended == today - timedelta(days=9)
    with pytest.raises(CannotStart, match="cannot be restored"):
        choose_base_backup(root, today - timedelta(days=20))
