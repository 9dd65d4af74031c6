"""manage.py migrate: Django's command as the owner, with short lock timeouts.

Later queries queue behind a statement that waits for a lock. So a migration waits only briefly,
lets other queries pass and tries again. CONCURRENTLY blocks nothing and waits without a limit,
because an interrupted build leaves an invalid index.
"""

from time import monotonic, sleep
from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.core.management import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import OperationalError, connections
from django.db.migrations import Migration
from psycopg.errors import LockNotAvailable

from kmapp.database.migration_router import OWNER

LOCK_TIMEOUT = "300ms"  # a migration takes several locks, one after the other
PAUSE = 1.0  # seconds between two tries
PATIENCE = 300.0  # seconds for one migration


class Command(migrate.Command):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(database=OWNER)

    def handle(self, *args: Any, **options: Any) -> None:
        _check_database(options["database"])
        self.connection = connections[options["database"]]
        self.until = monotonic() + PATIENCE
        while True:
            try:
                super().handle(*args, **options)
            except OperationalError as error:
                if not isinstance(error.__cause__, LockNotAvailable) or monotonic() > self.until:
                    raise
                self.stdout.write(" other sessions hold a lock it needs; waiting for them.")
                sleep(PAUSE)
            else:
                return
            finally:
                self.connection.close()  # and reset lock_timeout

    def migration_progress_callback(
        self,
        action: str,
        migration: Migration | None = None,
        fake: bool = False,  # noqa: FBT001, FBT002 - as Django calls it
    ) -> None:
        super().migration_progress_callback(action, migration, fake)
        if migration and action in ("apply_start", "unapply_start"):
            self._execute(f"SET lock_timeout = '{LOCK_TIMEOUT if migration.atomic else 0}'")
            if action == "apply_start" and not fake:
                self._drop_invalid_indexes(migration)
        if action.endswith("_success"):
            self.until = monotonic() + PATIENCE

    def _drop_invalid_indexes(self, migration: Migration) -> None:
        for operation in migration.operations:
            if isinstance(operation, AddIndexConcurrently):
                self._execute(f"DROP INDEX CONCURRENTLY IF EXISTS {operation.index.name}")

    def _execute(self, statement: str) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(statement)


def _check_database(alias: str) -> None:
    """Refuse an alias on which Django would record migrations that the router does not run."""
    if alias != OWNER:
        raise CommandError(
            f"Only the role that owns the tables can migrate: omit --database, or use {OWNER}."
        )
    if OWNER not in connections:
        raise CommandError(
            "DATABASE_URL is set and DATABASE_OWNER_URL is not: set it to the address with the "
            "role that owns the tables."
        )
