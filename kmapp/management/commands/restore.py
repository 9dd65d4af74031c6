"""manage.py restore: restore a backup into an empty database."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from kmapp.database.backup import BackupError
from kmapp.database.backup.dump import restore, restore_checkpoints
from kmapp.ledger.signing import public_path
from kmapp.management.commands.backup import KILOBYTE
from kmapp.management.database import owner_address
from kmapp.management.progress import Progress
from kmapp.runtime import stack
from kmapp.runtime.processes import CannotStart


class Command(BaseCommand):
    help = "Restore a backup into the configured empty database, migrate and check it."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="file written by `backup`")

    def handle(self, *, file: Path, **_: Any) -> None:
        try:
            with stack.database_server():
                self._restore(file)
        except (BackupError, CannotStart) as reason:
            raise CommandError(str(reason)) from reason

    def _restore(self, file: Path) -> None:
        if stack.may_provision():
            call_command("provision", stdout=self.stderr)
        progress = Progress("Kilobytes read")
        contents = restore(
            file, owner_address(), report_progress=lambda size: progress.add(size // KILOBYTE)
        )
        progress.end()
        self.stdout.write(f"{sum(contents.rows.values()):,} rows of {contents.made_at} are back.")
        keys = public_path(settings.CHECKPOINT_KEY_FILE)
        if restore_checkpoints(file, signed=settings.CHECKPOINT_FILE, keys=keys):
            self.stdout.write(f"Its checkpoints are in {settings.CHECKPOINT_FILE}.")
        call_command("migrate", database="owner", interactive=False, verbosity=0)
        call_command("fsck", stdout=self.stdout)
