"""manage.py base_backup: copy the embedded cluster for point-in-time recovery."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from kmapp.database.steady_clock import steady_time
from kmapp.runtime import env, stack
from kmapp.runtime.embedded.base_backups import (
    delete_old_backups,
    delete_replaced_archives,
    take_base_backup,
)
from kmapp.runtime.embedded.wal_archive import get_cluster_folder
from kmapp.runtime.processes import CannotStart

MEGABYTE = 1024**2


class Command(BaseCommand):
    help = (
        "Copy the running embedded database for `restore --until`, and delete base backups and "
        "archived segments that no moment of the last PITR_DAYS needs, also those of databases "
        "that a restore replaced."
    )
    requires_system_checks = []

    def handle(self, **_: Any) -> None:
        server = stack.build_postgres()
        if env.text("DATABASE_URL") or server.archive is None:
            raise CommandError(
                "Set PITR_DAYS and restart kmapp. For your own PostgreSQL, use its tools: see "
                "'Point-in-time recovery' in docs/operations.md."
            )
        try:
            with stack.database_server():
                folder = get_cluster_folder(server.archive, server.data)
                backup = take_base_backup(server.url(), folder)
                now = steady_time()  # does not follow a clock that jumped forward
                deleted = delete_old_backups(folder, settings.PITR_DAYS, now)
                deleted += delete_replaced_archives(folder, settings.PITR_DAYS, now)
        except CannotStart as reason:
            raise CommandError(str(reason)) from reason
        size = sum(path.stat().st_size for path in backup.folder.iterdir()) / MEGABYTE
        self.stdout.write(f"{backup.folder}: {size:,.1f} MB; older ones deleted: {len(deleted)}")
