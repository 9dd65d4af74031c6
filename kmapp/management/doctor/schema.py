"""The schema: migrations, indexes and row-level security."""

from collections import defaultdict
from collections.abc import Iterator

from django.apps import apps
from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from kmapp.accounts.row_level_security import list_policies
from kmapp.database.raw_sql import fetch_all
from kmapp.management.doctor.registry import DoctorFinding, check, error, join_names, ok
from kmapp.providers.active_models import models_in_use
from kmapp.search.nearest_indexes import list_indexes


@check("migrations", needs="database")
def check_migrations() -> Iterator[DoctorFinding]:
    loader = MigrationLoader(connection)
    # Compare all migrations, because a migration plan leaves out those before a migration that is
    # recorded as applied.
    pending = sorted(
        f"{app}.{name}" for app, name in loader.graph.nodes.keys() - loader.applied_migrations
    )
    replaced = {name for each in loader.disk_migrations.values() for name in each.replaces}
    unknown = [
        f"{app}.{name}"
        for app, name in loader.applied_migrations
        if app in loader.migrated_apps
        and (app, name) not in loader.disk_migrations.keys() | replaced
    ]
    if pending:
        yield error(
            f"{len(pending)} migrations are not applied: {join_names(pending)}",
            f"Run {settings.COMMAND} migrate.",
        )
    if unknown:
        yield error(
            f"the database has migrations of a newer release: {join_names(sorted(unknown))}",
            "Install that release, or restore a backup of this one.",
        )
    if not pending and not unknown:
        yield ok(f"{len(loader.applied_migrations)} applied")


@check("indexes", needs="migrations")
def check_indexes() -> Iterator[DoctorFinding]:
    """Look for indexes and constraints that are invalid, or missing although a model has them."""
    invalid = fetch_all(
        "SELECT indexrelid::regclass::text FROM pg_index WHERE NOT (indisvalid AND indisready)"
        " ORDER BY 1",
    )
    for (name,) in invalid:
        yield error(
            f"the index {name} is invalid, because its build was interrupted",
            f"As the owner, run REINDEX INDEX CONCURRENTLY {name}.",
        )
    existing = fetch_all(
        "SELECT relname FROM pg_class WHERE relkind = 'i'"
        " UNION SELECT conname FROM pg_constraint WHERE conrelid <> 0",
    )
    missing = sorted(_list_expected_names() - {name for (name,) in existing})
    if missing:
        yield error(
            f"indexes or constraints are missing: {join_names(missing)}",
            "Create them as in their migrations; for vectors_nearest_…, run"
            f" {settings.COMMAND} embedding_models backfill ID.",
        )
    if not invalid and not missing:
        yield ok(f"{len(_list_expected_names())} indexes and constraints of the models exist")


def _list_expected_names() -> set[str]:
    models = [model for model in apps.get_models() if model._meta.managed and not model._meta.proxy]
    return {
        *(each.name for model in models for each in model._meta.indexes),
        *(each.name for model in models for each in model._meta.constraints),
        *(index.name for model in models_in_use() for index in list_indexes(model)),
    }


@check("row-level security", needs="database")
def check_row_level_security() -> Iterator[DoctorFinding]:
    """Check each table with rows of accounts, and that no row is visible without an account."""
    tables = fetch_all(
        "SELECT c.relname, pg_get_userbyid(c.relowner), c.relrowsecurity AND c.relforcerowsecurity"
        " FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')"
        " AND (c.relname = 'accounts_account' OR EXISTS (SELECT FROM pg_attribute a"
        "  WHERE a.attrelid = c.oid AND a.attname = 'account_id' AND NOT a.attisdropped))",
    )
    policies = _load_policies()
    open_tables = sorted(
        table
        for table, owner, is_forced in tables
        if not is_forced or policies[table] != list_policies(owner, _get_account_column(table))
    )
    if open_tables:
        yield error(
            f"row-level security is off or changed for {join_names(open_tables)}:"
            " accounts may see each other",
            "Stop kmapp. ENABLE and FORCE it, and leave only the policies of the table's migration"
            " (EnableRowLevelSecurity).",
        )
    [(visible,)] = fetch_all("SELECT count(*) FROM accounts_account")
    if visible:
        yield error(
            f"{visible} accounts are visible without acting for one",
            "Stop kmapp, and check the policies of accounts_account and the app role.",
        )
    if not open_tables and not visible:
        yield ok(f"forced on {len(tables)} tables")


def _get_account_column(table: str) -> str:
    return "id" if table == "accounts_account" else "account_id"


def _load_policies() -> defaultdict[str, list[tuple[str | list[str], ...]]]:
    """Return the policies of each table in the form of `list_policies`."""
    policies = defaultdict(list)
    for table, *policy in fetch_all(
        "SELECT tablename, policyname, roles::text[], permissive, cmd, qual, with_check"
        " FROM pg_policies WHERE schemaname = 'public' ORDER BY policyname",
    ):
        policies[table].append(tuple(policy))
    return policies
