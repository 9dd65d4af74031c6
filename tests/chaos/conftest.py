"""One product for the whole run, on a durable Postgres of its own.

Each test starts the parts it needs, breaks some of them, and uses an account of its own.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.db import connections
from psycopg.sql import SQL, Identifier
from pytest_django import DjangoDbBlocker

from kmapp.accounts.models import Account
from kmapp.runtime import embedded
from kmapp.runtime.embedded.postgres import Postgres
from tests import makers
from tests.chaos.product import Product
from tests.databases import TEMPLATE, copy_server

ROLES = embedded.ROLES
OTHERS = "SELECT datname FROM pg_database WHERE NOT datistemplate AND datname <> 'postgres'"
_numbers = count(1)


@dataclass(frozen=True)
class ChaosServer:
    """A server with an empty, migrated database, which products copy."""

    home: Path
    postgres: Postgres

    def product(self, name: str, **more: str) -> Product:
        """Return a product that does not run yet; `more` is set in its environment."""
        with psycopg.connect(self.postgres.url(), autocommit=True) as server:
            server.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE} OWNER {ROLES['owner']}")
        home = self.home / name
        home.mkdir()
        return Product(home, self.postgres.url(ROLES["app"], name), extra_environment=more)

    def drop(self, name: str) -> None:
        """Drop the database of a product that does not run any more."""
        with psycopg.connect(self.postgres.url(), autocommit=True) as server:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")
        shutil.rmtree(self.home / name, ignore_errors=True)


@contextmanager
def connected_to(
    postgres: Postgres, database: str, product: Product | None = None
) -> Iterator[None]:
    """Connect this process to a database of that server, and use the checkpoints of its product.

    The product may copy its checkpoints into the database, which this process would miss in a file
    of its own.
    """
    checkpoint_file = settings.CHECKPOINT_FILE
    entries = [settings.DATABASES[alias] for alias in ("default", "owner")]
    before = [(entry["HOST"], entry["NAME"]) for entry in entries]
    connections.close_all()
    for entry in entries:
        entry["HOST"], entry["NAME"] = str(postgres.sockets), database
    if product:
        settings.CHECKPOINT_FILE = product.checkpoint_file
    try:
        yield
    finally:
        connections.close_all()
        for entry, (host, name) in zip(entries, before, strict=True):
            entry["HOST"], entry["NAME"] = host, name
        settings.CHECKPOINT_FILE = checkpoint_file


@contextmanager
def make_home() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="kmapp-chaos-"))  # short, as paths of sockets must be
    home.chmod(0o711)
    yield home
    shutil.rmtree(home)


@contextmanager
def open_chaos_server(home: Path, server: Postgres) -> Iterator[ChaosServer]:
    """Start a copy of the tests' server, without the databases of the workers."""
    copy_server(server.data)
    with server:
        with psycopg.connect(server.url(), autocommit=True) as superuser:
            for (name,) in superuser.execute(OTHERS).fetchall():
                superuser.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))
        yield ChaosServer(home, server)


@pytest.fixture(scope="session")
def chaos_server(django_db_setup: None) -> Iterator[ChaosServer]:
    with make_home() as home:
        server = Postgres(home / "postgres", home / "pg", home / "postgres.log")
        with open_chaos_server(home, server) as chaos_server:
            yield chaos_server


@pytest.fixture(scope="session")
def shared_product(chaos_server: ChaosServer) -> Iterator[Product]:
    product = chaos_server.product("whole")
    yield product
    product.kill(*product.running)


@pytest.fixture
def product(
    chaos_server: ChaosServer, shared_product: Product, django_db_blocker: DjangoDbBlocker
) -> Iterator[Product]:
    """Yield the product; this process is connected to its database."""
    server = chaos_server.postgres
    with django_db_blocker.unblock(), connected_to(server, "whole", shared_product):
        yield shared_product


SeparateProduct = Callable[..., AbstractContextManager[tuple[Product, Account]]]


@pytest.fixture
def separate_product(
    chaos_server: ChaosServer, django_db_blocker: DjangoDbBlocker
) -> SeparateProduct:
    """Return a context manager with another product and an account in its database.

    Within the block this process is connected to that database.
    """

    @contextmanager
    def create(**more: str) -> Iterator[tuple[Product, Account]]:
        name = f"apart_{next(_numbers)}"
        product = chaos_server.product(name, **more)
        with django_db_blocker.unblock(), connected_to(chaos_server.postgres, name, product):
            account = makers.account("Acme")
            product.key = makers.key(account)[1]
            try:
                yield product, account
            finally:
                product.kill(*product.running)

    return create


@pytest.fixture
def acme(product: Product) -> Account:
    """Create an account of this test's own; requests to the product use its key."""
    account = makers.account(f"Acme {next(_numbers)}")
    product.key = makers.key(account)[1]
    return account
