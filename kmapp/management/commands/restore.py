"""manage.py restore: restore a backup into an empty database, or a moment from the archive."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connections

from kmapp.database.backup import BackupError
from kmapp.database.backup.dump import restore_backup, restore_checkpoints
from kmapp.ledger.checkpoint_status import list_deviations
from kmapp.ledger.signing import get_public_keys_path
from kmapp.management.commands.backup import KILOBYTE
from kmapp.management.database_addresses import get_owner_address
from kmapp.management.progress import Progress
from kmapp.management.undone_changes import (
    RestoredState,
    list_undone_changes,
    load_restored_state,
)
from kmapp.runtime import env, stack
from kmapp.runtime.embedded.postgres import Postgres
from kmapp.runtime.embedded.recovery import recover
from kmapp.runtime.processes import CannotStart

LATEST = "latest"
OLDER = """
The ledger of this state ends before its last checkpoint, which is what you asked for. The accounts
are read-only until you accept it. Start kmapp, look at the data, then:

  {command} accept_ledger --all --reason "restored to an earlier time"
"""
REPEAT = """
Every change after this time is undone. Repeat those that protect people and data:

- erasures of memories, documents, tool results and everything of a person; forgotten memories
- revoked and rotated API keys, revoked invitations
- removed members, changed roles, deactivated users
- new passwords, removed second factors, disconnected logins, settings of company sign-in
- deleted webhooks, disabled rules, archived accounts, changes at Settings → Policy"""
SECOND = """
If the original of this installation still runs, unset CHECKPOINT_PEER_URL and CHECKPOINT_COPY_FILE
here before you start: the checkpoints of this one would make the original read-only."""


class Command(BaseCommand):
    help = (
        "Restore a backup into the configured empty database, or the embedded database as it was "
        "at a time, migrate and check it."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("file", type=Path, nargs="?", help="file written by `backup`")
        source.add_argument(
            "--until",
            metavar="TIME",
            help="such as 2026-11-25T14:30:00 (local time, or with an offset), or latest",
        )

    def handle(self, *, file: Path | None, until: str | None, **_: Any) -> None:
        try:
            if until is not None:
                self._recover(None if until == LATEST else parse_time(until))
            elif file is not None:
                with stack.database_server():
                    self._restore(file)
        except (BackupError, CannotStart) as reason:
            raise CommandError(str(reason)) from reason

    def _restore(self, file: Path) -> None:
        if stack.may_provision():
            call_command("provision", stdout=self.stderr)
        progress = Progress("Kilobytes read")
        contents = restore_backup(
            file, get_owner_address(), report_progress=lambda size: progress.add(size // KILOBYTE)
        )
        progress.end()
        self.stdout.write(f"{sum(contents.rows.values()):,} rows of {contents.made_at} are back.")
        keys = get_public_keys_path(settings.CHECKPOINT_KEY_FILE)
        if restore_checkpoints(file, checkpoints_path=settings.CHECKPOINT_FILE, keys_path=keys):
            self.stdout.write(f"Its checkpoints are in {settings.CHECKPOINT_FILE}.")
        call_command("migrate", database="owner", interactive=False, verbosity=0)
        call_command("fsck", stdout=self.stdout)
        if settings.CHECKPOINT_PEER_URL or settings.CHECKPOINT_COPY_FILE:
            self.stdout.write(SECOND)

    def _recover(self, until: datetime | None) -> None:
        server = stack.build_postgres()
        if env.text("DATABASE_URL") or server.archive is None:
            raise CommandError(
                "--until restores the embedded PostgreSQL, with PITR_DAYS set as when it ran. For "
                "your own server, see 'Point-in-time recovery' in docs/operations.md."
            )
        with stack.locked_data_folder():
            recovered = recover(server, until, self.stdout.write)
        self.stdout.write(f"The last transaction is of {recovered.last or 'the base backup'}.")
        if recovered.former:
            self.stdout.write(f"The former data are in {recovered.former}. Delete them when ready.")
        _close_connections()
        with stack.database_server():
            call_command("migrate", database="owner", interactive=False, verbosity=0)
            older, restored = bool(list_deviations()), load_restored_state()
            try:
                call_command("fsck", stdout=self.stdout)
            except CommandError:
                if not older:
                    raise
            finally:
                _close_connections()
        if older:
            self.stdout.write(OLDER.format(command=settings.COMMAND))
        former = recovered.former if until else None  # the last moment undoes nothing
        differences = _describe_differences(server, former, restored)
        if older or differences:
            self.stdout.write("\n\n".join(filter(None, [REPEAT, differences])))


def _close_connections() -> None:
    """Close the connections, including those in the pool, because their server stops."""
    for connection in connections.all(initialized_only=True):
        connection.close()
        connection.close_pool()  # type: ignore[attr-defined]  # of Django's PostgreSQL


def _describe_differences(server: Postgres, former: Path | None, restored: RestoredState) -> str:
    """Run the server once more with the former data, without archiving, and compare both states."""
    if former is None:
        return ""
    log = server.log.with_name("postgres-former.log")
    newer = replace(server, data=former, log=log, archive=None)
    try:
        with stack.locked_data_folder(), newer:
            try:
                changes = list_undone_changes(restored)
            finally:
                _close_connections()
    except (CannotStart, DatabaseError, OSError) as reason:
        return f"The former data, which would show what was changed, cannot be read: {reason}"
    return "\n".join(["The former data differ from these:", *changes]) if changes else ""


def parse_time(text: str) -> datetime:
    """Return a past moment; without an offset, the time is local."""
    try:
        moment = datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        raise CommandError(
            f"{text!r} is not a time. Write 2026-11-25T14:30:00 or latest."
        ) from None
    if moment > datetime.now(UTC):
        raise CommandError(f"{moment:%Y-%m-%d %H:%M:%S} UTC has not come yet.")
    return moment
