"""Migrations that readers and writers do not feel."""

from collections.abc import Iterator

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db.migrations import AddIndex, CreateModel
from django.db.migrations.loader import MigrationLoader

OURS = ("kmapp.", "memory.", "knowledge.", "rules.", "context.")
OF_THE_FIRST_SCHEMA = {"outbox.0002_not_done.deliveries_not_done"}


def test_an_index_of_a_table_that_may_be_long_is_built_beside_its_writers() -> None:
    assert set(built_under_lock()) == OF_THE_FIRST_SCHEMA


def built_under_lock() -> Iterator[str]:
    """Indexes that a later migration adds to the table of an earlier one, in its transaction."""
    for (app, name), migration in MigrationLoader(None).disk_migrations.items():
        if not migration.__module__.startswith(OURS):
            continue
        new = {each.name_lower for each in migration.operations if isinstance(each, CreateModel)}
        if migration.initial:
            continue
        for each in migration.operations:
            if not isinstance(each, AddIndex) or isinstance(each, AddIndexConcurrently):
                continue
            if each.model_name_lower not in new:
                yield f"{app}.{name}.{each.index.name}"
