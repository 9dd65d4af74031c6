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
from kmapp.database.backup.restore import restore_backup, restore_checkpoints
from kmapp.ledger.chain_deviations import list_deviations
from kmapp.ledger.signing import get_public_keys_path
from kmapp.management.changes_undone_by_restore import (
    RestoredState,
    list_undone_changes,
    load_restored_state,
)
from kmapp.management.commands.backup import KILOBYTE
from kmapp.management.database_addresses import get_owner_address
from kmapp.management.progress import Progress
from kmapp.runtime import env, stack
from kmapp.runtime.embedded.postgres import Postgres
from kmapp.runtime.embedded.recovery import recover
from kmapp.runtime.processes import CannotStart

LATEST = "latest"
OLDER_LEDGER_NOTICE = """
The ledger of this state ends before its last checkpoint, which is what you asked for. The accounts
are read-only until you accept it. Start kmapp, look at the data, then:

  {command} accept_ledger --all --reason "restored to an earlier time"
"""
REPEAT_CHANGES_NOTICE = """
Every change after the restored state is undone. Repeat those that protect people and data:

- erasures of memories, documents, tool results and everything of a person; forgotten memories
- revoked and rotated API keys, revoked invitations
- removed members, changed roles, deactivated users
- new passwords, removed second factors, disconnected logins, settings of company sign-in
- deleted webhooks, disabled rules, archived accounts, changes at Settings → Policy"""
NO_FORMER_FOLDER = """
Which of these changes there were cannot be listed, because the data before the restore are not
known. If their folder still exists, restore once more with --former FOLDER."""
NO_FORMER_DATABASE = """
Which of these changes there were cannot be listed, because only data of the embedded PostgreSQL can
be compared, and DATABASE_URL names another server."""
SAME_DATA_NOTICE = """
The former data have the same users, members, keys, invitations and erasures."""
SECOND_INSTALLATION_NOTICE = """
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
            help="such as 2026-11-25T14:30:00+01:00 (without an offset: in TIME_ZONE), or latest",
        )
        parser.add_argument(
            "--former",
            metavar="FOLDER",
            type=Path,
            help=(
                "data folder of the embedded PostgreSQL before the restore of FILE, to list what "
                "must be repeated"
            ),
        )

    def handle(
        self, *, file: Path | None, until: str | None, former: Path | None, **_: Any
    ) -> None:
        try:
            if former is not None:
                _check_former_folder(former, until)
            if until is not None:
                self._recover(None if until == LATEST else parse_time(until))
            elif file is not None:
                self._restore(file, former)
        except (BackupError, CannotStart) as reason:
            raise CommandError(str(reason)) from reason

    def _restore(self, file: Path, former: Path | None) -> None:
        failure: CommandError | None = None
        with stack.database_server():
            self._load_backup(file)
            restored = load_restored_state() if former else None
            try:
                call_command("fsck", stdout=self.stdout)
            except CommandError as error:  # the ledger is usually older than its last checkpoint
                failure = error
            if former:
                _close_connections()
        if settings.CHECKPOINT_PEER_URL or settings.CHECKPOINT_COPY_FILE:
            self.stdout.write(SECOND_INSTALLATION_NOTICE)
        self.stdout.write(REPEAT_CHANGES_NOTICE)
        if restored:
            differences = _describe_differences(stack.build_postgres(), former, restored)
            self.stdout.write(f"\n{differences}" if differences else SAME_DATA_NOTICE)
        else:
            self.stdout.write(NO_FORMER_DATABASE if env.text("DATABASE_URL") else NO_FORMER_FOLDER)
        if failure:
            raise failure

    def _load_backup(self, file: Path) -> None:
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
        call_command("migrate", interactive=False, verbosity=0)

    def _recover(self, until: datetime | None) -> None:
        server = stack.build_postgres()
        if env.text("DATABASE_URL") or server.archive is None:
            raise CommandError(
                "--until restores the embedded PostgreSQL, with PITR_DAYS set as when it ran. For "
                "your own server, see 'Point-in-time recovery' in docs/operations.md."
            )
        if until:
            self.stdout.write(f"Restoring the state of {until:%Y-%m-%d %H:%M:%S} UTC.")
        with stack.locked_data_folder():
            former = recover(server, until, self.stdout.write)
        if former:
            self.stdout.write(f"The former data are in {former}. Delete them when ready.")
        _close_connections()
        with stack.database_server():
            call_command("migrate", interactive=False, verbosity=0)
            older, restored = bool(list_deviations()), load_restored_state()
            try:
                call_command("fsck", stdout=self.stdout)
            except CommandError:
                if not older:
                    raise
            finally:
                _close_connections()
        if older:
            self.stdout.write(OLDER_LEDGER_NOTICE.format(command=settings.COMMAND))
        compared = former if until else None  # restoring the latest state undoes nothing
        differences = _describe_differences(server, compared, restored)
        if older or differences:
            self.stdout.write("\n\n".join(filter(None, [REPEAT_CHANGES_NOTICE, differences])))


def _check_former_folder(former: Path, until: str | None) -> None:
    """Refuse a folder that cannot be compared, before anything is restored."""
    if until is not None:
        raise CommandError("--former is for FILE. --until compares with the data that it replaces.")
    if env.text("DATABASE_URL"):
        raise CommandError("--former compares data of the embedded PostgreSQL. Unset DATABASE_URL.")
    if not (former / "PG_VERSION").exists():
        raise CommandError(f"{former} is not a data folder of PostgreSQL.")
    if former.resolve() == stack.build_postgres().data.resolve():
        raise CommandError(f"{former} is the folder to restore into. Move it away first.")


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
    """Return a past moment; without an offset, the time is in TIME_ZONE, which Django sets."""
    try:
        moment = datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        raise CommandError(
            f"{text!r} is not a time. Write 2026-11-25T14:30:00+01:00 or latest."
        ) from None
    if moment > datetime.now(UTC):
        raise CommandError(f"{moment:%Y-%m-%d %H:%M:%S} UTC has not come yet.")
    return moment
