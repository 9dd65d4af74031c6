"""Databases of tests: a migrated template, copies of it, and the connections to them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from kmapp.database.provision import Login, provision
from kmapp.runtime import embedded
from kmapp.runtime.embedded.base_backups import run_postgres_program

TEMPLATE = "kmapp_template"
ALIASES = ("default", "owner")
# Of the tests' server, for three workers with twenty requests at once; a standby needs as many.
CONNECTIONS = {"max_connections": "100"}


def _superuser(database: str = "postgres") -> str:
    url = embedded.database_url(settings.DATA_DIR, "superuser")
    return url.replace(f"/{embedded.DATABASE}?", f"/{database}?")


def _sql(statement: str, database: str = "postgres") -> None:
    with psycopg.connect(_superuser(database), autocommit=True) as connection:
        connection.execute(statement)


class ConnectionPool:
    """Connections to one database for the requests of servers, which are in other threads."""

    def __init__(self) -> None:
        self.idle: list[BaseDatabaseWrapper] = []
        self.is_open = True
        self.lock = threading.Lock()

    def lend(self) -> None:
        """Give this thread a connection until it is taken back."""
        with self.lock:
            connection = self.idle.pop() if self.idle else None
        connections["default"] = connection or _create_shared_connection()

    def take_back(self) -> None:
        """Return the connection of this thread to the pool, if a request has opened it."""
        connection = connections["default"]
        del connections["default"]
        with self.lock:
            if self.is_open and connection.connection is not None:
                self.idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        with self.lock:
            self.is_open = False
        for connection in self.idle:
            connection.close()


def _create_shared_connection() -> BaseDatabaseWrapper:
    """Create a connection for several threads that stays open at the end of a request."""
    connection = connections.create_connection("default")
    connection.inc_thread_sharing()
    close = connection.close_if_unusable_or_obsolete

    def close_if_unusable() -> None:
        connection.close_at = None  # its age is no reason to close it
        close()

    connection.close_if_unusable_or_obsolete = close_if_unusable  # type: ignore[method-assign]
    return connection


_pools = [ConnectionPool()]  # one item, which `use_database` replaces


def get_pool() -> ConnectionPool:
    """Return the pool of the database that is in use."""
    return _pools[0]


def use_database(name: str) -> None:
    """Connect both roles to a database."""
    for alias in ALIASES:
        connections[alias].close()
        connections[alias].settings_dict["NAME"] = name
        settings.DATABASES[alias]["NAME"] = name
    _pools[0].close()
    _pools[0] = ConnectionPool()


def make_database(name: str) -> None:
    """Create a database with roles, extension and grants, and without tables."""
    roles = embedded.ROLES
    provision(_superuser(), database=name, owner=Login(roles["owner"]), app=Login(roles["app"]))


def make_template() -> None:
    make_database(TEMPLATE)
    use_database(TEMPLATE)
    call_command("migrate", database="owner", verbosity=0)
    call_command("embedding_models", "ensure", verbosity=0)
    connections.close_all()
    # Migrations leave many dead rows in these system catalogues. The tables of the product are
    # left out: statistics of empty tables would change query plans.
    _sql("VACUUM (FREEZE) pg_attribute, pg_class, pg_constraint, pg_depend, pg_index", TEMPLATE)
    # The first connection writes the relation cache to a file. Copies of the database contain it,
    # so that connections to them start faster.
    _sql("SELECT 1", TEMPLATE)
    _sql(f"ALTER DATABASE {TEMPLATE} IS_TEMPLATE true ALLOW_CONNECTIONS false")


def clone(name: str, template: str = TEMPLATE) -> None:
    """Copy a database file by file, which is faster than writing every page to the WAL."""
    owner = embedded.ROLES["owner"]
    _sql(f"CREATE DATABASE {name} TEMPLATE {template} OWNER {owner} STRATEGY FILE_COPY")


def drop(name: str) -> None:
    connections.close_all()
    _sql(f"DROP DATABASE {name} WITH (FORCE)")


def copy_server(folder: Path) -> None:
    """Copy the data of the tests' server, with its template, for another server in `folder`."""
    run_postgres_program(
        "pg_basebackup",
        *(f"--dbname={_superuser()}", f"--pgdata={folder}"),
        *("--checkpoint=fast", "--no-sync"),
    )


@contextmanager
def temporary_database(name: str) -> Iterator[str]:
    """Clone the template and use the clone; drop it afterwards."""
    clone(name)
    with other_connections():
        use_database(name)
        try:
            yield name
        finally:
            drop(name)


@contextmanager
def other_connections() -> Iterator[None]:
    """Leave the connections of this thread open, and use others for the time of the block.

    A connection has read the definitions of many tables, which a new one would read again.
    """
    before = str(settings.DATABASES["default"]["NAME"])
    own = {alias: connections[alias] for alias in ALIASES}
    for alias in ALIASES:
        del connections[alias]
    try:
        yield
    finally:
        use_database(before)
        for alias, connection in own.items():
            connections[alias] = connection
            if connection.connection is not None and not connection.is_usable():
                connection.close()
