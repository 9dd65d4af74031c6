"""manage.py scrub: remove erased content from the database's files."""

from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from redis import Redis, RedisError

from kmapp.database.backup import BackupError
from kmapp.database.scrub import (
    ScrubError,
    renew_write_ahead_log,
    rewrite_append_only_file,
    rewrite_tables,
)
from kmapp.management.database_addresses import get_owner_address, get_server_url
from kmapp.runtime import stack
from kmapp.runtime.processes import CannotStart


class Command(BaseCommand):
    help = (
        "Rewrite tables, indexes and logs of the database, so that no file contains erased "
        "data. Each table is locked during its rewrite: run this at a quiet time."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--url", default="", help="superuser URL of the server; see provision")

    def handle(self, *, url: str, **_: Any) -> None:
        server_url = get_server_url(url)  # fails before the tables, which may take hours
        try:
            with stack.database_server():
                rewrite_tables(get_owner_address(), self._report)
                renew_write_ahead_log(server_url)
            self._report("write-ahead log: renewed")
        except (BackupError, CannotStart, ScrubError, psycopg.Error) as reason:
            raise CommandError(str(reason)) from reason
        self._rewrite_valkey()
        folder = Path(settings.BACKUPS_DIR)
        older = sorted(
            [*folder.glob("*.zip"), *folder.glob("pitr/*/base-*"), *folder.glob("pitr/*/wal")]
        )
        if older:
            self.stdout.write("Not reached (created earlier):")
            for path in older:
                self.stdout.write(f"  {path}")

    def _rewrite_valkey(self) -> None:
        try:
            with Redis.from_url(settings.REDIS_URL, socket_timeout=60) as valkey:
                rewritten = rewrite_append_only_file(valkey)
        except (RedisError, ScrubError) as reason:
            raise CommandError(
                f"Valkey, whose append-only file must be rewritten too: {reason}"
            ) from reason
        self._report(f"valkey: {'rewritten' if rewritten else 'has no append-only file'}")

    def _report(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()
