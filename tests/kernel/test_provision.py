"""Provisioning: roles, their privileges, and refusals."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
import pytest
from django.conf import settings
from psycopg.sql import SQL, Identifier

from kmapp.database.provision import (
    CannotProvision,
    Login,
    create_database,
    create_role,
    provision,
    set_role_defaults,
)
from kmapp.runtime import embedded


@dataclass(frozen=True)
class Site:
    """A database and two roles of this test's own."""

    database: str
    owner: Login
    app: Login

    def prepare(self) -> None:
        url = embedded.server_url(settings.DATA_DIR)
        session = settings.DATABASE_SESSION
        provision(url, database=self.database, owner=self.owner, app=self.app, session=session)

    def connect(self, login: Login) -> psycopg.Connection:
        host = embedded.get_postgres_sockets(settings.DATA_DIR)
        return psycopg.connect(
            host=str(host), user=login.name, dbname=self.database, autocommit=True
        )


@pytest.fixture
def server() -> Iterator[psycopg.Connection]:
    with psycopg.connect(embedded.server_url(settings.DATA_DIR), autocommit=True) as connection:
        yield connection


@contextmanager
def temporary_site(name: str) -> Iterator[Site]:
    yield Site(name, Login(f"{name}_owner", "o'p\\w"), Login(f"{name}_app"))
    with psycopg.connect(embedded.server_url(settings.DATA_DIR), autocommit=True) as server:
        server.execute(SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name)))
        for role in (f"{name}_owner", f"{name}_app", f"{name}_admin"):
            server.execute(SQL("DROP ROLE IF EXISTS {}").format(Identifier(role)))


@pytest.fixture
def site(worker_database: str) -> Iterator[Site]:
    with temporary_site(f"site_{worker_database}") as site:
        yield site


@pytest.fixture(scope="module")
def prepared(worker_database: str) -> Iterator[Site]:
    with temporary_site(f"prepared_{worker_database}") as site:
        site.prepare()
        site.prepare()  # a second time changes nothing
        yield site


def test_app_role_uses_objects_of_the_owner_and_creates_none(prepared: Site) -> None:
    with prepared.connect(prepared.owner) as owner:
        owner.execute("CREATE TABLE entry (id int GENERATED ALWAYS AS IDENTITY, at vector(2))")
        owner.execute("CREATE FUNCTION seven() RETURNS int LANGUAGE sql AS 'SELECT 7'")
    with prepared.connect(prepared.app) as app:
        app.execute("INSERT INTO entry (at) VALUES ('[1,2]')")
        assert app.execute("SELECT id, seven() FROM entry").fetchone() == (1, 7)
        for refused in ("CREATE TABLE mine ()", "TRUNCATE entry", "DROP TABLE entry"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                app.execute(refused)


def test_sessions_of_the_app_role_have_its_settings_without_sending_them(prepared: Site) -> None:
    with prepared.connect(prepared.app) as app:
        app.execute("SELECT '[1]'::vector")
        for name, value in settings.DATABASE_SESSION.items():
            assert app.execute("SELECT current_setting(%s)", [name]).fetchone() == (value,)
    with prepared.connect(prepared.owner) as owner:
        assert owner.execute("SHOW lock_timeout").fetchone() == ("0",)


def test_other_roles_cannot_connect_or_execute(prepared: Site, server: psycopg.Connection) -> None:
    with prepared.connect(prepared.owner) as owner:
        owner.execute("CREATE FUNCTION eight() RETURNS int LANGUAGE sql AS 'SELECT 8'")
        granted = "SELECT has_function_privilege('public', 'eight()', 'EXECUTE')"
        assert owner.execute(granted).fetchone() == (False,)
    other = Login(f"{prepared.database}_admin")
    create_role(server, other)
    with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
        prepared.connect(other)


def test_neither_role_escapes_row_level_security(
    prepared: Site, server: psycopg.Connection
) -> None:
    rows = server.execute(
        "SELECT rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb, rolcanlogin"
        " FROM pg_roles WHERE rolname IN (%s, %s)",
        [prepared.owner.name, prepared.app.name],
    ).fetchall()
    assert rows == [(False, True), (False, True)]


def test_password_is_stored_hashed(prepared: Site, server: psycopg.Connection) -> None:
    query = "SELECT rolpassword FROM pg_authid WHERE rolname = %s"
    (secret,) = server.execute(query, [prepared.owner.name]).fetchone() or ("",)
    assert secret.startswith("SCRAM-SHA-256$")
    assert server.execute(query, [prepared.app.name]).fetchone() == (None,)


def test_role_that_bypasses_rls_is_refused(site: Site, server: psycopg.Connection) -> None:
    server.execute(SQL("CREATE ROLE {} BYPASSRLS").format(Identifier(site.app.name)))
    with pytest.raises(CannotProvision, match=f"{site.app.name} is a superuser or bypasses"):
        site.prepare()


def test_owner_and_app_must_differ(site: Site) -> None:
    with pytest.raises(CannotProvision, match="two different roles"):
        Site(site.database, site.app, site.app).prepare()


def test_administrator_without_superuser_can_provision(
    site: Site, server: psycopg.Connection
) -> None:
    admin = Identifier(f"{site.database}_admin")
    server.execute(SQL("CREATE ROLE {} CREATEROLE CREATEDB").format(admin))
    server.execute(SQL("SET SESSION AUTHORIZATION {}").format(admin))
    create_role(server, site.owner)
    create_role(server, site.app)
    create_database(server, site.database, site.owner)
    url = embedded.server_url(settings.DATA_DIR)
    with psycopg.connect(url, dbname=site.database, autocommit=True) as inside:
        inside.execute("CREATE EXTENSION vector")
        inside.execute(SQL("SET SESSION AUTHORIZATION {}").format(admin))
        set_role_defaults(inside, site.app, settings.DATABASE_SESSION)
    server.execute("RESET SESSION AUTHORIZATION")
    owned = "SELECT datdba::regrole::text FROM pg_database WHERE datname = %s"
    assert server.execute(owned, [site.database]).fetchone() == (site.owner.name,)
