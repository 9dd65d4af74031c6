"""Migrations that readers and writers do not feel."""

from collections.abc import Iterator

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db.migrations import AddField, AddIndex, CreateModel
from django.db.migrations.loader import MigrationLoader

OURS = ("kmapp.", "memory.", "knowledge.", "rules.", "context.")
OF_THE_FIRST_SCHEMA = {"outbox.0002_not_done.deliveries_not_done"}
# Whoever ran an older release beside these could not write: they are as they were released.
RELEASED = {
    "context.0003_reports",
    "context.0005_tools_of_calls",
    "context.0011_shares_of_variants",
    "context.0013_summaries_by_models",
    "context.0014_another_kmapp",
    "memory.0011_what_is_noted",
    "providers.0002_cosines",
}


def test_an_index_of_a_table_that_may_be_long_is_built_beside_its_writers() -> None:
    assert set(built_under_lock()) == OF_THE_FIRST_SCHEMA


def built_under_lock() -> Iterator[str]:
    """Indexes that are added in the migration's transaction."""
    for name, each in changes_of_tables():
        if isinstance(each, AddIndex) and not isinstance(each, AddIndexConcurrently):
            yield f"{name}.{each.index.name}"


def test_the_release_before_can_leave_a_column_out() -> None:
    """Its processes write on until they are started anew."""
    assert set(columns_that_must_be_said()) == RELEASED


def columns_that_must_be_said() -> Iterator[str]:
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
