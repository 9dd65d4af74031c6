"""manage.py migrate: which role runs the migrations, and which databases it refuses."""

from collections.abc import Iterator

import pytest
from django.conf import settings
from django.core.management import CommandError
from django.db import connections

from tests.databases import drop, make_database, use_database
from tests.makers import run_command


@pytest.fixture
def empty_database(committed: str) -> Iterator[str]:
    name = f"{committed}_migrated"
    make_database(name)
    use_database(name)
    yield name
    drop(name)
    use_database(committed)


def list_tables() -> dict[str, str]:
    """Return the owner of each table."""
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT tablename, tableowner FROM pg_tables WHERE schemaname = 'public'")
        return dict(cursor.fetchall())


def test_owner_migrates_by_default(empty_database: str) -> None:
    run_command("migrate", "contenttypes")
    owner = settings.DATABASES["owner"]["USER"]
    assert list_tables() == {"django_content_type": owner, "django_migrations": owner}


def test_app_role_is_refused_and_records_nothing(empty_database: str) -> None:
    """The router runs no migration on this connection, so none may be recorded as applied."""
    with pytest.raises(CommandError, match="omit --database"):
        run_command("migrate", "contenttypes", database="default")
    assert list_tables() == {}


def test_missing_owner_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(connections.settings, "owner")
    with pytest.raises(CommandError, match="DATABASE_OWNER_URL"):
        run_command("migrate")
