"""The database: both roles, its version and its settings."""

from collections.abc import Iterator

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections

from kmapp.database.raw_sql import fetch_all
from kmapp.management.doctor.registry import DoctorFinding, check, error, ok, warning
from kmapp.runtime import env
from kmapp.search import read_replica

REPLICA_LAG = 64 * 2**20  # bytes of write-ahead log
POSTGRES, PGVECTOR = 16, (0, 8)  # the oldest that work


@check("database")
def check_app_role() -> Iterator[DoctorFinding]:
    """Connect as the role that serves, which row-level security must bind."""
    try:
        # Not through the pool, whose error does not say why it has no connection.
        psycopg.connect(**env.address(connections[DEFAULT_DB_ALIAS].settings_dict)).close()
        [(role, free, owns)] = fetch_all(
            "SELECT current_user, rolsuper OR rolbypassrls, EXISTS (SELECT FROM pg_class"
            "  WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
            "  AND relowner = r.oid) FROM pg_roles r WHERE rolname = current_user",
        )
    except (psycopg.Error, DatabaseError) as problem:
        yield error(
            f"cannot connect as the app role: {_get_first_line(problem)}",
            _explain_connection("DATABASE_URL"),
        )
        return
    if free or owns:
        yield error(
            f"the app role {role} is exempt from row-level security"
            f" ({'superuser or BYPASSRLS' if free else 'it owns tables'})",
            f"Use a role of its own in DATABASE_URL; {settings.COMMAND} provision creates it.",
        )
    else:
        yield ok(f"connected as {role}")


@check("database owner", needs="database")
def check_owner_role() -> Iterator[DoctorFinding]:
    if "owner" not in connections:
        yield warning(
            "DATABASE_OWNER_URL is not set, so this host cannot migrate or back up",
            "Set it where you run these commands; web and workers do not need it.",
        )
        return
    try:
        [(role,)] = fetch_all("SELECT current_user", using="owner")
    except DatabaseError as problem:
        yield error(
            f"cannot connect as the owner: {_get_first_line(problem)}",
            _explain_connection("DATABASE_OWNER_URL"),
        )
    else:
        yield ok(f"connected as {role}")


@check("database replica", needs="database")
def check_replica() -> Iterator[DoctorFinding]:
    """Compare the positions of both servers in the write-ahead log."""
    if not read_replica.is_configured():
        yield ok("none")
        return
    try:
        [(here,)] = fetch_all("SELECT pg_current_wal_lsn()")
        [(is_replica, lag)] = fetch_all(
            "SELECT pg_is_in_recovery(), %s::pg_lsn - pg_last_wal_replay_lsn()",
            [here],
            using=read_replica.ALIAS,
        )
    except DatabaseError as problem:
        yield warning(
            f"cannot connect to the replica, so searches use the primary: "
            f"{_get_first_line(problem)}",
            "Start the replica and check DATABASE_REPLICA_URL.",
        )
        return
    if not is_replica:
        yield error(
            "DATABASE_REPLICA_URL names a server that is not a replica",
            "Remove it, or name a hot standby of DATABASE_URL.",
        )
    elif lag > REPLICA_LAG:
        yield warning(
            f"the replica is {lag / 2**20:.0f} MB behind the primary",
            "Check that it receives and replays the write-ahead log; see its log.",
        )
    else:
        yield ok("the replica is up to date")


def _get_first_line(problem: Exception) -> str:
    return str(problem).strip().partition("\n")[0]


def _explain_connection(variable: str) -> str:
    if not env.text("DATABASE_URL"):
        return "Start kmapp: the embedded PostgreSQL runs with it. Its log is logs/postgres.log."
    return f"Start PostgreSQL and check {variable}."


@check("postgresql", needs="database")
def check_postgres() -> Iterator[DoctorFinding]:
    [(major, version, pgvector)] = fetch_all(
        "SELECT current_setting('server_version_num')::int / 10000,"
        " current_setting('server_version'),"
        " (SELECT extversion FROM pg_extension WHERE extname = 'vector')",
    )
    findings = []
    if major < POSTGRES:
        findings.append(
            error(f"PostgreSQL {version} is too old", f"Upgrade to PostgreSQL {POSTGRES} or later.")
        )
    if pgvector is None:
        findings.append(error("pgvector is not installed", f"Run {settings.COMMAND} provision."))
    elif tuple(map(int, pgvector.split(".")[:2])) < PGVECTOR:
        remedy = "Install 0.8, then ALTER EXTENSION vector UPDATE."
        findings.append(error(f"pgvector {pgvector} is too old", remedy))
    yield from findings or [ok(f"PostgreSQL {version}, pgvector {pgvector}")]


@check("session settings", needs="postgresql")
def check_session_settings() -> Iterator[DoctorFinding]:
    """Compare the settings of a session with those required, which a pooler may drop."""
    wrong = [
        f"{name} is {current}"
        for name, value in settings.DATABASE_SESSION.items()
        for [current, required] in fetch_all(
            # The second value is the required one, in the form in which PostgreSQL displays it. The
            # setting is local to this statement.
            "SELECT current_setting(%s, true), set_config(%s, %s, true)",
            [name, name, value],
        )
        if current != required
    ]
    if wrong:
        yield error(
            f"sessions of the app role have other settings: {', '.join(wrong)}",
            f"Run {settings.COMMAND} provision, then reconnect PgBouncer (RECONNECT).",
        )
    else:
        yield ok("as required")
