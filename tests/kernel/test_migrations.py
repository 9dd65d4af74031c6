"""Migrations that readers and writers do not feel."""

from collections.abc import Iterator

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db.migrations import AddField, AddIndex, CreateModel
from django.db.migrations.loader import MigrationLoader

OURS = ("kmapp.", "memory.", "knowledge.", "rules.", "context.")


def test_indexes_of_existing_tables_are_built_concurrently() -> None:
    assert not list(built_under_lock())


def built_under_lock() -> Iterator[str]:
    """Indexes that are added in the migration's transaction."""
    for name, each in changes_of_tables():
        if isinstance(each, AddIndex) and not isinstance(each, AddIndexConcurrently):
            yield f"{name}.{each.index.name}"


def test_new_columns_are_optional_for_the_previous_release() -> None:
    """Its processes continue to write until they are restarted."""
    assert not list(required_columns())


def required_columns() -> Iterator[str]:
    for name, each in changes_of_tables():
        if isinstance(each, AddField) and not (each.field.null or each.field.has_db_default()):
            yield name


def changes_of_tables() -> Iterator[tuple[str, AddField | AddIndex]]:
    """What a later migration adds to the table of an earlier one."""
    for (app, name), migration in MigrationLoader(None).disk_migrations.items():
        if not migration.__module__.startswith(OURS) or migration.initial:
            continue
        new = {each.name_lower for each in migration.operations if isinstance(each, CreateModel)}
        for each in migration.operations:
            if isinstance(each, AddField | AddIndex) and each.model_name_lower not in new:
                yield f"{app}.{name}", each
