"""One-time provisioning as superuser: roles, database and grants.

The owner role migrates; the app role serves, under row-level security. Safe to repeat. No Django:
the tests provision their databases with the same functions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import psycopg
from psycopg import sql
from psycopg.sql import Identifier, Literal


class CannotProvision(Exception):
    """An error for the person at the terminal."""


@dataclass(frozen=True, slots=True)
class Login:
    name: str
    password: str = field(default="", repr=False)


def provision(
    superuser_url: str,
    *,
    database: str,
    owner: Login,
    app: Login,
    session: Mapping[str, str] | None = None,
) -> None:
    """Create everything that `migrate` needs; `session` are settings of the app's sessions."""
    if owner.name == app.name:
        raise CannotProvision(
            "DATABASE_OWNER_URL and DATABASE_URL must use two different roles, because the owner "
            "sees all rows."
        )
    with psycopg.connect(superuser_url, autocommit=True) as server:
        create_role(server, owner)
        create_role(server, app)
        create_database(server, database, owner)
    with psycopg.connect(superuser_url, dbname=database, autocommit=True) as inside:
        grant_privileges(inside, owner=owner, app=app)
        set_role_defaults(inside, app, session or {})


def create_role(server: psycopg.Connection, login: Login) -> None:
    """Create a role under row-level security, and set its password if there is one."""
    row = server.execute(
        "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = %s", [login.name]
    ).fetchone()
    if row is None:
        _run_statements(
            server, "CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS", Identifier(login.name)
        )
    elif row[0]:
        raise CannotProvision(
            f"The role {login.name} is a superuser or bypasses row-level security. Use another "
            "role."
        )
    if login.password:
        # Hashed here, so that no server log contains it.
        secret = server.pgconn.encrypt_password(
            login.password.encode(), login.name.encode(), b"scram-sha-256"
        ).decode()
        _run_statements(
            server, "ALTER ROLE {} PASSWORD {}", Identifier(login.name), Literal(secret)
        )


def create_database(server: psycopg.Connection, name: str, owner: Login) -> None:
    query = "SELECT rolsuper FROM pg_roles WHERE rolname = CURRENT_USER"
    if server.execute(query).fetchone() != (True,):  # the administrator of a managed server
        _run_statements(server, "GRANT {} TO CURRENT_USER", Identifier(owner.name))
    if not server.execute("SELECT FROM pg_database WHERE datname = %s", [name]).rowcount:
        text = "CREATE DATABASE {} OWNER {} ENCODING 'UTF8' TEMPLATE template0"
        _run_statements(server, text, Identifier(name), Identifier(owner.name))


def grant_privileges(inside: psycopg.Connection, *, owner: Login, app: Login) -> None:
    """Create the extension and grant privileges, in a connection to the database."""
    names = {
        "database": Identifier(inside.info.dbname),
        "owner": Identifier(owner.name),
        "app": Identifier(app.name),
    }
    for text in GRANTS_SQL:
        inside.execute(sql.SQL(text).format(**names))


def set_role_defaults(inside: psycopg.Connection, login: Login, session: Mapping[str, str]) -> None:
    """Set defaults of the role's sessions in this database, which apply behind a pooler too."""
    inside.execute("SELECT '[1]'::vector")  # loads pgvector, which defines its settings
    for name, value in session.items():
        _run_statements(
            inside,
            "ALTER ROLE {} IN DATABASE {} SET {} = {}",
            *(Identifier(login.name), Identifier(inside.info.dbname)),
            *(Identifier(*name.split(".")), Literal(value)),
        )


GRANTS_SQL = (
    "CREATE EXTENSION IF NOT EXISTS vector",
    "REVOKE ALL ON DATABASE {database} FROM PUBLIC",
    "GRANT CONNECT ON DATABASE {database} TO {app}",
    "REVOKE ALL ON SCHEMA public FROM PUBLIC",
    "GRANT USAGE, CREATE ON SCHEMA public TO {owner}",
    "GRANT USAGE ON SCHEMA public TO {app}",
    # By default, PUBLIC may execute functions. This default applies to the whole database and
    # cannot be revoked for one schema.
    "ALTER DEFAULT PRIVILEGES FOR ROLE {owner} REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC",
    "ALTER DEFAULT PRIVILEGES FOR ROLE {owner} IN SCHEMA public"
    " GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {app}",
    "ALTER DEFAULT PRIVILEGES FOR ROLE {owner} IN SCHEMA public"
    " GRANT USAGE, SELECT ON SEQUENCES TO {app}",
    "ALTER DEFAULT PRIVILEGES FOR ROLE {owner} IN SCHEMA public"
    " GRANT EXECUTE ON FUNCTIONS TO {app}",
)


def _run_statements(server: psycopg.Connection, text: str, *names: sql.Composable) -> None:
    server.execute(sql.SQL(text).format(*names))
