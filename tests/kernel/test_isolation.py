"""Row-level security: without an account, the database returns and changes nothing (ASVS 8.4.1)."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, connection, transaction

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.accounts.row_level_security import list_policies
from kmapp.runtime import embedded
from kmapp.search.models import PackedPostings
from tests import makers
from tests.full_account import account_tables, create_full_account, fingerprint

pytestmark = pytest.mark.promise(23)

OWNER, APP = embedded.ROLES["owner"], embedded.ROLES["app"]
APPEND_ONLY = "ledger_commit"  # refuses UPDATE to everyone
SECURITY_DEFINER_FUNCTIONS = {
    *("api_key_by_prefix", "accounts_of_user", "account_ids", "ledger_heads", "claim_deliveries"),
    *("release_deliveries", "outbox_depth", "list_accounts", "open_company_sign_ins"),
    *("advance_clock", "steady_time", "hasten_deliveries", "unpacked_collections"),
    *("uncoded_collections", "commits_of_chains", "newest_checkpoints"),
}


@pytest.fixture
def filled_account(committed: str) -> Account:
    return create_full_account("Acme").account


@pytest.fixture
def superuser(django_db_setup: None) -> Iterator[psycopg.Connection]:
    """A superuser's connection to the current database, unrestricted by row-level security."""
    name = settings.DATABASES["default"]["NAME"]
    url = embedded.database_url(settings.DATA_DIR, "superuser")
    url = url.replace(f"/{embedded.DATABASE}?", f"/{name}?")
    with psycopg.connect(url, autocommit=True) as server:
        yield server


def rows(server: psycopg.Connection, query: str, *values: object) -> list[tuple[Any, ...]]:
    return server.execute(query, values).fetchall()


def count(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")  # noqa: S608
        return int(cursor.fetchone()[0])


def test_without_an_account_no_row_is_visible_or_updated(
    filled_account: Account, superuser: psycopg.Connection
) -> None:
    for table, column in account_tables().items():
        number = rows(superuser, f"SELECT count(*) FROM {table}")[0][0]  # noqa: S608
        assert number, f"{table} is empty: create a row of it in create_full_account"
        assert count(table) == 0, table
        if table != APPEND_ONLY:
            with connection.cursor() as cursor:
                cursor.execute(f"UPDATE {table} SET {column} = {column}")  # noqa: S608
                assert cursor.rowcount == 0, table
        assert rows(superuser, f"SELECT count(*) FROM {table}")[0][0] == number  # noqa: S608


def test_insert_for_another_account_is_refused(filled_account: Account) -> None:
    rival = create_full_account("Rival").account
    before = fingerprint(filled_account)
    for table, column in account_tables().items():
        copy = f"INSERT INTO {table} SELECT (json_populate_record(t, %s)).* FROM {table} t LIMIT 1"  # noqa: S608
        stolen = f'{{"{column}": "{filled_account.pk}"}}'
        with (
            acting(rival),
            pytest.raises(DatabaseError) as refused,
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(copy, [stolen])
        assert "row-level security" in str(refused.value), table
    assert fingerprint(filled_account) == before


def test_each_account_sees_its_own_rows(acme: Account, rival: Account) -> None:
    makers.key(acme)
    with acting(rival):
        assert count("accounts_apikey") == 0
        with acting(acme):
            assert count("accounts_apikey") == 1
        assert count("accounts_apikey") == 0


def test_every_account_table_forces_row_level_security_with_two_policies(
    superuser: psycopg.Connection,
) -> None:
    for table, column in account_tables().items():
        forced = (
            "SELECT relrowsecurity AND relforcerowsecurity FROM pg_class WHERE oid = %s::regclass"
        )
        assert rows(superuser, forced, table) == [(True,)], table
        policies = rows(
            superuser,
            "SELECT policyname, roles::text[], permissive, cmd, qual, with_check FROM pg_policies"
            " WHERE tablename = %s ORDER BY policyname",
            table,
        )
        assert policies == list_policies(OWNER, column), table


def test_tables_without_an_account_are_listed(superuser: psycopg.Connection) -> None:
    """They contain people, sessions and data that all accounts share. Decide for each new table."""
    results = rows(
        superuser,
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        " AND relkind IN ('r', 'p', 'v', 'm') AND NOT relname = ANY (%s)",
        list(account_tables()),
    )
    assert {str(row[0]) for row in results} == {
        *("accounts_user", "accounts_user_groups", "accounts_user_user_permissions"),
        *("auth_group", "auth_group_permissions", "auth_permission"),
        *("django_admin_log", "django_content_type", "django_migrations", "django_session"),
        *("providers_embeddingmodel", "web_systemsample", "kmapp_clock"),
        # Of people, who may be members of several accounts.
        *("account_emailaddress", "account_emailconfirmation", "mfa_authenticator", "web_session"),
        "search_termposting",  # of the former release, and always empty
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
    results = rows(
        superuser,
        "SELECT proname, proowner::regrole::text, proconfig,"
        " has_function_privilege('public', oid, 'EXECUTE'),"
        " has_function_privilege(%s, oid, 'EXECUTE')"
        " FROM pg_proc WHERE prosecdef AND pronamespace <> 'pg_catalog'::regnamespace",
        APP,
    )
    assert {row[0] for row in results} == SECURITY_DEFINER_FUNCTIONS
    for _name, *guarded in results:
        assert guarded == [OWNER, ["search_path=pg_catalog, public, pg_temp"], False, True]


def test_foreign_keys_between_account_tables_include_the_account(
    superuser: psycopg.Connection,
) -> None:
    """Row-level security does not apply to foreign keys, so the account is a part of each."""
    tables = account_tables()
    references = set()
    for source, target, columns, target_columns, deferred in rows(
        superuser,
        "SELECT k.conrelid::regclass::text, k.confrelid::regclass::text,"
        " ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = k.conrelid"
        "       AND attnum = ANY (k.conkey)),"
        " ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = k.confrelid"
        "       AND attnum = ANY (k.confkey)), condeferred"
        " FROM pg_constraint k WHERE k.contype = 'f'",
    ):
        if source in tables and target in tables:
            assert "account_id" in columns, (source, target)
            assert tables[target] in target_columns, (source, target)
            assert deferred, (source, target)
            references |= {(source, column, target) for column in columns}
    assert len(references) > len(tables)
    fields = {
        (model._meta.db_table, field.column, field.related_model._meta.db_table)
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if field.related_model
        and field.related_model._meta.db_table in tables
        # Its foreign key has no constraint, because checking each row would be slow.
        and model is not PackedPostings
    }
    assert fields - references == set()
