"""manage.py backup: back up the database and its checkpoints while the product runs."""

from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from kmapp.database.backup import BackupError
from kmapp.database.backup.archive_file import Contents
from kmapp.database.backup.dump import dump_database
from kmapp.ledger.signing import get_public_keys_path
from kmapp.management.database_addresses import get_owner_address
from kmapp.management.progress import Progress
from kmapp.runtime import stack
from kmapp.runtime.processes import CannotStart

KILOBYTE = 1024


class Command(BaseCommand):
    help = "Write a backup for `restore`. An interrupted backup leaves no file."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", type=Path, nargs="?", help=f"default: a new one in {settings.BACKUPS_DIR}"
        )

    def handle(self, *, file: Path | None, **_: Any) -> None:
        path = file or make_default_path()
        try:
            with stack.database_server():
                contents = create_backup(path)
        except (BackupError, CannotStart) as reason:
            raise CommandError(str(reason)) from reason
        self.stdout.write(
            f"{path}: {sum(contents.rows.values()):,} rows of {len(contents.heads):,} accounts,"
            f" {path.stat().st_size / KILOBYTE**2:,.1f} MB"
        )


def make_default_path() -> Path:
    folder: Path = settings.BACKUPS_DIR
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    moment = f"{datetime.now():%Y%m%d-%H%M%S}"  # noqa: DTZ005 - local time
    return folder / f"kmapp-{moment}.zip"


def create_backup(path: Path) -> Contents:
    progress = Progress("Kilobytes written")
    contents = dump_database(
        path,
        get_owner_address(),
        checkpoints_path=settings.CHECKPOINT_FILE,
        keys_path=get_public_keys_path(settings.CHECKPOINT_KEY_FILE),
        report_progress=lambda size: progress.add(size // KILOBYTE),
    )
    progress.end()
    return contents
