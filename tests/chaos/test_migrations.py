"""Migrations can be reversed with rows in all tables, and an interrupted one is completed."""

from collections.abc import Iterator

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from pytest_django import DjangoDbBlocker

from memory.benchmarks.seed_accounts import SHARES, seed
from tests import makers
from tests.chaos.conftest import ChaosServer, connected_to
from tests.chaos.measure import long
from tests.full_account import create_full_account

pytestmark = [pytest.mark.chaos, pytest.mark.promise(40)]

ROWS = 10_000
REMAINING_TABLES = {"django_migrations"}


@pytest.fixture
def alone(chaos_server: ChaosServer, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Connect this process to a migrated database of its own."""
    chaos_server.product("alone")
    with django_db_blocker.unblock(), connected_to(chaos_server.postgres, "alone"):
        yield
    chaos_server.drop("alone")


def tables() -> set[str]:
    with connections["owner"].cursor() as cursor:
        return set(connections["owner"].introspection.table_names(cursor))


def migrate(*words: str) -> str:
    return makers.run_command("migrate", *words, database="owner", verbosity=1)


def test_models_and_migrations_agree(alone: None) -> None:
    call_command("makemigrations", check=True, dry_run=True)


@long
def test_every_migration_is_reversible(alone: None) -> None:
    """Migrate to zero and up again, with 10,000 memories and rows in every table."""
    seed(ROWS, SHARES, report_progress=lambda _number: None, report_line=lambda _line: None)
    create_full_account("Acme")
    before = tables()
    for app in sorted(MigrationLoader(connections["owner"]).migrated_apps):
        migrate(app, "zero")
    assert tables() == REMAINING_TABLES
    migrate()
    assert tables() == before
    call_command("embedding_models", "ensure", verbosity=0)
    makers.key(makers.account("Acme"))
    with pytest.raises(CommandError):  # the signed checkpoints are gone
        makers.check_ledger()
    settings.CHECKPOINT_FILE.unlink()
    makers.check_ledger()
    create_full_account("Rival")


def test_invalid_index_is_rebuilt(alone: None) -> None:
    """A migration that was killed during CREATE INDEX CONCURRENTLY can be repeated."""
    migrate("memory", "0002")
    with connections["owner"].cursor() as cursor:
        cursor.execute("CREATE INDEX entries_by_body ON memory_memoryentry (account_id)")
    assert "OK" in migrate("memory", "0003")
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexname = 'entries_by_body'")
        assert "written_sha256" in str(cursor.fetchone())
    migrate()
