"""A backup is complete or absent, and restores the same state."""

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import psycopg
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connections

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.database.backup import BackupError, pg_tools
from kmapp.database.backup.archive_file import CHECKPOINTS_MEMBER, CONTENTS_MEMBER
from kmapp.database.backup.restore import restore_backup
from kmapp.runtime import embedded, env
from memory.actions.write_entries import write_batch
from memory.models import MemoryEntry
from memory.models.entry_input import Batch, NewEntry
from tests import makers
from tests.databases import drop, make_database, use_database
from tests.makers import run_command

pytestmark = pytest.mark.promise(30)

TEXTS = ["Tea at nine.", "九点喝茶。", "The kettle is on."]


def write_texts(account: Account, *texts: str) -> None:
    with acting(account):
        batch = Batch(entries=[NewEntry(text=text, user_id="u") for text in texts])
        write_batch(account_id=account.pk, actor=SYSTEM, batch=batch)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kmapp.zip"


@pytest.fixture
def empty_database(committed: str) -> Iterator[str]:
    """Provision an empty database, to which commands can be pointed."""
    name = f"{committed}_restored"
    make_database(name)
    yield name
    drop(name)
    use_database(committed)


@pytest.fixture
def filled_account(committed: str, acme: Account) -> Account:
    write_texts(acme, *TEXTS)
    makers.settle()
    call_command("checkpoint", stdout=io.StringIO())
    return acme


def test_restore_recovers_rows_and_checkpoints(
    filled_account: Account, file: Path, empty_database: str
) -> None:
    """The restored database accepts writes, and the file of checkpoints is restored."""
    output = run_command("backup", file)
    assert "1 accounts" in output
    assert file.stat().st_mode & 0o777 == 0o600
    signed = settings.CHECKPOINT_FILE.read_bytes()
    settings.CHECKPOINT_FILE.unlink()  # a new machine
    use_database(empty_database)
    output = run_command("restore", file)
    assert "all as sealed" in output
    assert "Repeat those that protect people and data" in output
    assert "cannot be listed" in output
    assert settings.CHECKPOINT_FILE.read_bytes() == signed
    with acting(filled_account):
        rows = MemoryEntry.objects.of(filled_account)
        assert sorted(rows.values_list("content", flat=True)) == sorted(TEXTS)
    write_texts(filled_account, "After the fire.")
    makers.settle()
    run_command("fsck")


def test_restore_refuses_a_non_empty_database(filled_account: Account, file: Path) -> None:
    run_command("backup", file)
    with pytest.raises(CommandError, match="is not empty"):
        run_command("restore", file)
    with acting(filled_account):
        assert MemoryEntry.objects.of(filled_account).count() == len(TEXTS)


def test_restore_into_a_missing_database_names_provision(
    filled_account: Account, file: Path
) -> None:
    call_command("backup", file, stdout=io.StringIO())
    owner = env.address(settings.DATABASES["owner"]) | {"dbname": "missing"}
    with pytest.raises(BackupError, match=r"does not exist[^`]+`provision`"):
        restore_backup(file, owner, report_progress=lambda _size: None)


def test_restore_refuses_damaged_files(
    filled_account: Account, file: Path, empty_database: str, tmp_path: Path
) -> None:
    run_command("backup", file)
    cut, bent = tmp_path / "cut.zip", tmp_path / "bent.zip"
    cut.write_bytes(file.read_bytes()[:-100])
    middle = bytearray(file.read_bytes())
    middle[len(middle) // 2] ^= 0xFF
    bent.write_bytes(bytes(middle))
    use_database(empty_database)
    for damaged in (cut, bent, tmp_path / "none.zip"):
        with pytest.raises(CommandError, match=r"not whole|does not exist|ended with|gave up"):
            run_command("restore", damaged)
    assert "all as sealed" in run_command("restore", file)  # the failed attempts left nothing


def test_backup_refuses_an_existing_file(filled_account: Account, file: Path) -> None:
    file.write_text("something else")
    with pytest.raises(CommandError, match="is there already"):
        run_command("backup", file)
    assert file.read_text() == "something else"


def test_killed_backup_leaves_only_a_partial_file(
    committed: str, acme: Account, file: Path
) -> None:
    """Kill -9 during the dump; the next backup replaces the partial file."""
    write_texts(acme, *(f"Note {number} {'long ' * 200}" for number in range(150)))
    url = embedded.database_url(settings.DATA_DIR, "owner")
    database_url = url.replace(f"/{embedded.DATABASE}?", f"/{committed}?")
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "DATABASE_OWNER_URL": database_url,
        "DATABASE_URL": database_url.replace("kmapp_owner", "kmapp_app"),
    }
    process = subprocess.Popen(
        [sys.executable, "manage.py", "backup", str(file)],
        env=environment,
        cwd=settings.BASE_DIR,
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    part = file.with_name(f"{file.name}.part")
    while process.poll() is None and not part.exists():
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.returncode == -signal.SIGKILL, "it was too fast to be killed"
    assert not file.exists()
    assert part.exists()
    run_command("backup", file)
    assert file.exists()
    assert not part.exists()


def test_failed_dump_leaves_no_file(
    filled_account: Account, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "kmapp.database.backup.dump.DUMP_OPTIONS", ("--format=custom",)
    )  # without --enable-row-security, pg_dump fails
    with pytest.raises(CommandError, match="pg_dump ended with 1"):
        run_command("backup", file)
    assert list(file.parent.iterdir()) == []


def test_checkpoints_after_the_snapshot_are_excluded(
    filled_account: Account, file: Path, empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_program = pg_tools.find_program

    def meanwhile(name: str, major: int) -> Path:
        write_texts(filled_account, "Later.")  # after the snapshot was taken
        call_command("checkpoint", stdout=io.StringIO())
        return find_program(name, major)

    monkeypatch.setattr(pg_tools, "find_program", meanwhile)
    run_command("backup", file)
    monkeypatch.undo()
    with ZipFile(file) as bundle:
        [head] = json.loads(bundle.read(CONTENTS_MEMBER))["heads"].values()
        numbers = [json.loads(line)["statement"]["seq"] for line in bundle.open(CHECKPOINTS_MEMBER)]
    assert numbers == [head["seq"]]


def test_pg_tools_must_match_the_server_version(monkeypatch: pytest.MonkeyPatch) -> None:
    [major] = {pg_tools.find_program(name, 18).parent.name for name in ("pg_dump", "pg_restore")}
    assert major == "bin"
    with pytest.raises(BackupError, match=r"The server is PostgreSQL 14.*postgresql-client-14"):
        pg_tools.find_program("pg_dump", 14)


def test_rehearsal_compares_and_drops_its_database(
    filled_account: Account, file: Path, committed: str
) -> None:
    run_command("backup", file)
    output = run_command("rehearse_restore", file)
    assert "NOT OK" not in output
    assert "3 of 3 equal" in output
    assert "finds 100.0% of these, the live one 100.0%" in output
    assert "All checks passed: this backup can be restored." in output
    write_texts(filled_account, "Written since.")
    makers.settle()
    output = run_command("rehearse_restore", file)
    assert "0 equal, 1 ancestors of the live head" in output
    assert "where the live chain went on, 3 of 3 found" in output
    assert _databases_like(f"{committed}%") == [committed]


def test_rehearsal_reports_a_diverged_chain(
    filled_account: Account, file: Path, committed: str
) -> None:
    run_command("backup", file)
    superuser = embedded.server_url(settings.DATA_DIR)
    with psycopg.connect(superuser, dbname=committed) as intruder:
        intruder.execute("SET session_replication_role = replica")
        intruder.execute("UPDATE ledger_commit SET commit_hash = reverse(commit_hash)")
    out = io.StringIO()
    with pytest.raises(CommandError, match="1 of these checks failed"):
        call_command("rehearse_restore", str(file), stdout=out, stderr=io.StringIO())
    assert "NOT OK" in out.getvalue()
    assert "1 on no live chain" in out.getvalue()


def test_rehearsal_uses_the_newest_backup_or_creates_one(
    filled_account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "BACKUPS_DIR", tmp_path / "backups")
    assert "rehearsal.zip" in run_command("rehearse_restore")
    run_command("backup")
    [archive] = (tmp_path / "backups").iterdir()
    assert archive.name in run_command("rehearse_restore")


def test_backup_during_writes_ends_on_an_ancestor(filled_account: Account, file: Path) -> None:
    stop = threading.Event()

    def write_until_stopped() -> None:
        while not stop.is_set():
            write_texts(filled_account, "Another one.")
        connections.close_all()  # of this thread

    writers = [threading.Thread(target=write_until_stopped) for _ in range(2)]
    for each in writers:
        each.start()
    try:
        run_command("backup", file)
    finally:
        stop.set()
        for each in writers:
            each.join()
    output = run_command("rehearse_restore", file)
    assert "NOT OK" not in output
    assert "ancestors of the live head" in output


def _databases_like(pattern: str) -> list[str]:
    with psycopg.connect(embedded.server_url(settings.DATA_DIR)) as server:
        rows = server.execute("SELECT datname FROM pg_database WHERE datname LIKE %s", [pattern])
        return [row[0] for row in rows]


def test_backup_requires_the_owner_url(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    monkeypatch.delitem(settings.DATABASES, "owner")
    with pytest.raises(CommandError, match="Set DATABASE_OWNER_URL"):
        run_command("backup", file)
    assert env.address(settings.DATABASES["default"])["user"] == "kmapp_app"
