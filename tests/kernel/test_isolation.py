"""The database itself keeps accounts apart: it fails closed (ASVS 8.4.1)."""

from collections.abc import Iterator

import psycopg
import pytest
from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, ProgrammingError, connection, transaction

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, ApiKey
from kmapp.runtime import embedded
from tests import makers
from tests.full_account import Estate, account_tables, estate

pytestmark = pytest.mark.promise(23)

OWNER, APP = embedded.ROLES["owner"], embedded.ROLES["app"]
APPEND_ONLY = "ledger_commit"  # refuses UPDATE to everyone
SECURITY_DEFINER_FUNCTIONS = {
    *("api_key_by_prefix", "accounts_of_user", "account_ids", "claim_deliveries"),
    *("release_deliveries", "outbox_depth"),
}


@pytest.fixture
def acme_estate(committed: str) -> Estate:
    return estate("Acme")


@pytest.fixture
def superuser(django_db_setup: None) -> Iterator[psycopg.Connection]:
    """A superuser's connection to the current database, unrestricted by row-level security."""
    name = settings.DATABASES["default"]["NAME"]
    url = embedded.database_url(settings.DATA_DIR, "superuser")
    url = url.replace(f"/{embedded.DATABASE}?", f"/{name}?")
    with psycopg.connect(url, autocommit=True) as server:
        yield server


def rows(server: psycopg.Connection, query: str, *values: object) -> list[tuple[object, ...]]:
    return server.execute(query, values).fetchall()


def count(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")  # noqa: S608
        return int(cursor.fetchone()[0])


def test_without_an_account_no_row_is_visible_or_updated(
    acme_estate: Estate, superuser: psycopg.Connection
) -> None:
    """As the app role, by raw SQL, in every table that holds something."""
    for table, column in account_tables().items():
        held = rows(superuser, f"SELECT count(*) FROM {table}")[0][0]  # noqa: S608
        assert held, f"{table} is empty: give an estate a row of it"
        assert count(table) == 0, table
        if table != APPEND_ONLY:
            with connection.cursor() as cursor:
                cursor.execute(f"UPDATE {table} SET {column} = {column}")  # noqa: S608
                assert cursor.rowcount == 0, table
        assert rows(superuser, f"SELECT count(*) FROM {table}")[0][0] == held  # noqa: S608


def test_insert_for_another_account_is_refused(acme_estate: Estate) -> None:
    rival = estate("Rival")
    before = acme_estate.fingerprint()
    for table, column in account_tables().items():
        copy = f"INSERT INTO {table} SELECT (json_populate_record(t, %s)).* FROM {table} t LIMIT 1"  # noqa: S608
        stolen = f'{{"{column}": "{acme_estate.account.pk}"}}'
        with (
            acting(rival.account),
            pytest.raises(DatabaseError) as refused,
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(copy, [stolen])
        assert "row-level security" in str(refused.value), table
    assert acme_estate.fingerprint() == before


def test_each_account_sees_its_own_rows(acme: Account, rival: Account) -> None:
    makers.key(acme)
    with acting(rival):
        assert count("accounts_apikey") == 0
        with acting(acme):
            assert count("accounts_apikey") == 1
        assert count("accounts_apikey") == 0


def test_write_to_another_account_is_refused(acme: Account, rival: Account) -> None:
    with acting(rival), pytest.raises(ProgrammingError), transaction.atomic():
        ApiKey.objects.create(account=acme, name="theirs", prefix="x", scopes=[], commit_id=acme.pk)


def test_every_account_table_forces_row_level_security(superuser: psycopg.Connection) -> None:
    open_tables = rows(
        superuser,
        "SELECT relname FROM pg_class WHERE relname = ANY (%s)"
        " AND relnamespace = 'public'::regnamespace"
        " AND NOT (relrowsecurity AND relforcerowsecurity)",
        list(account_tables()),
    )
    assert open_tables == []


def test_every_account_table_has_exactly_two_policies(superuser: psycopg.Connection) -> None:
    current = "(NULLIF(current_setting('app.account_id'::text, true), ''::text))::uuid"
    for table, column in account_tables().items():
        mine = f"({column} = {current})"
        found = rows(
            superuser,
            "SELECT roles::text[], cmd, permissive, qual, with_check FROM pg_policies"
            " WHERE tablename = %s ORDER BY roles::text",
            table,
        )
        assert sorted(found) == sorted(
            [
                ([APP], "ALL", "PERMISSIVE", mine, mine),
                ([OWNER], "ALL", "PERMISSIVE", "true", "true"),
            ]
        ), table


def test_tables_without_an_account_are_listed(superuser: psycopg.Connection) -> None:
    """People, their sessions, what the deployment shares: a new table has to be thought about."""
    found = rows(
        superuser,
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        " AND relkind IN ('r', 'p', 'v', 'm') AND NOT relname = ANY (%s)",
        list(account_tables()),
    )
    assert {str(row[0]) for row in found} == {
        *("accounts_user", "accounts_user_groups", "accounts_user_user_permissions"),
        *("auth_group", "auth_group_permissions", "auth_permission"),
        *("django_admin_log", "django_content_type", "django_migrations", "django_session"),
        "providers_embeddingmodel",
        # Of people, who may be members of several accounts.
        *("account_emailaddress", "account_emailconfirmation", "mfa_authenticator", "web_session"),
    }


def test_app_role_has_no_row_level_security_privileges(superuser: psycopg.Connection) -> None:
    role = rows(
        superuser,
        "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication"
        " FROM pg_roles WHERE rolname = %s",
        APP,
    )
    assert role == [(False, False, False, False, False)]
    assert rows(superuser, "SELECT 1 FROM pg_auth_members WHERE member = %s::regrole", APP) == []
    assert rows(superuser, "SELECT relname FROM pg_class WHERE relowner = %s::regrole", APP) == []
    powers = rows(
        superuser,
        "SELECT relname, privilege FROM pg_class, unnest(ARRAY['TRUNCATE', 'REFERENCES', 'TRIGGER',"
        " 'MAINTAIN']) privilege WHERE relnamespace = 'public'::regnamespace"
        " AND relkind IN ('r', 'p') AND has_table_privilege(%s, oid, privilege)",
        APP,
    )
    assert powers == []
    assert rows(superuser, "SELECT has_schema_privilege(%s, 'public', 'CREATE')", APP) == [(False,)]


@pytest.mark.parametrize(
    "statement",
    [
        f"SET ROLE {OWNER}",
        "SET row_security = off; SELECT count(*) FROM memory_memoryentry",
        "ALTER TABLE memory_memoryentry DISABLE ROW LEVEL SECURITY",
        "DROP POLICY own_account ON memory_memoryentry",
        "TRUNCATE ledger_commit",
        "SET session_replication_role = replica",
        "CREATE FUNCTION own() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "COPY memory_memoryentry TO PROGRAM 'cat'",
    ],
)
def test_app_role_cannot_bypass_row_level_security(db: None, statement: str) -> None:
    with pytest.raises(DatabaseError), connection.cursor() as cursor:
        cursor.execute(statement)


def test_only_listed_functions_are_security_definer(superuser: psycopg.Connection) -> None:
    found = rows(
        superuser,
        "SELECT proname, proowner::regrole::text, proconfig,"
        " has_function_privilege('public', oid, 'EXECUTE'),"
        " has_function_privilege(%s, oid, 'EXECUTE')"
        " FROM pg_proc WHERE prosecdef AND pronamespace <> 'pg_catalog'::regnamespace",
        APP,
    )
    assert {row[0] for row in found} == SECURITY_DEFINER_FUNCTIONS
    for _name, *guarded in found:
        assert guarded == [OWNER, ["search_path=pg_catalog, public"], False, True]


def test_foreign_keys_include_the_account(
    superuser: psycopg.Connection,
) -> None:
    """Row-level security does not guard foreign keys: the account is a part of each."""
    found = rows(
        superuser,
        "SELECT k.conrelid::regclass::text, k.confrelid::regclass::text,"
        " ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = k.conrelid"
        "       AND attnum = ANY (k.conkey)),"
        " ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = k.confrelid"
        "       AND attnum = ANY (k.confkey)), condeferrable"
        " FROM pg_constraint k WHERE k.contype = 'f'",
    )
    tables = account_tables()
    between = [row for row in found if row[0] in tables and row[1] in tables]
    assert len(between) > len(tables), "the account itself, and more"
    for source, target, columns, targets, deferrable in between:
        assert "account_id" in columns, (source, target)  # type: ignore[operator]
        assert tables[str(target)] in targets, (source, target)  # type: ignore[operator]
        assert deferrable, (source, target)
    pointed_at = {str(row[1]) for row in between}
    unreferenced = {
        (model._meta.db_table, field.column)
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if field.related_model and field.related_model._meta.db_table in tables
    } - {(str(row[0]), column) for row in between for column in row[2]}  # type: ignore[attr-defined]
    assert unreferenced == set(), "a relation that the database does not hold"
    assert pointed_at <= tables.keys()
