"""Rehearsal of a restore next to the live database."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import connections
from psycopg.sql import SQL, Identifier

from kmapp.accounts.acting import acting
from kmapp.database.backup import BackupError
from kmapp.database.backup.archive_file import (
    CHECKPOINTS_MEMBER,
    KEYS_MEMBER,
    Contents,
    open_archive,
)
from kmapp.database.backup.dump import load_contents
from kmapp.database.backup.pg_tools import connect
from kmapp.database.provision import Login, provision
from kmapp.ledger.chain import Head
from kmapp.ledger.fsck import Findings, Options, check
from kmapp.ledger.models import Commit
from kmapp.providers.active_models import clear_model_cache
from kmapp.runtime import env
from kmapp.search import scan_method_choice

DATABASE_ALIASES = ("default", "owner")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadComparison:
    """The accounts by the relation of their restored head to the live chain."""

    equal: frozenset[UUID]  # it is the live head
    ancestors: frozenset[UUID]  # the live chain contains it
    diverged: frozenset[UUID]  # the live chain does not contain it

    @property
    def heads(self) -> int:
        return len(self.equal) + len(self.ancestors) + len(self.diverged)


@contextmanager
def create_scratch_database(superuser_url: str) -> Iterator[str]:
    """Create an empty, provisioned database next to the live one and drop it afterwards."""
    live_database, app_database = settings.DATABASES["owner"], settings.DATABASES["default"]
    name = f"{live_database['NAME']}_rehearsal"
    with psycopg.connect(superuser_url, autocommit=True) as server:
        lock = server.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [name])
        if lock.fetchone() != (True,):
            raise BackupError(f"Another rehearsal is under way in the database {name}.")
        _drop_database(server, name)  # an earlier rehearsal may have been killed
        owner_login, app_login = Login(str(live_database["USER"])), Login(str(app_database["USER"]))
        provision(superuser_url, database=name, owner=owner_login, app=app_login)
        try:
            yield name
        finally:
            _drop_database(server, name)


def _drop_database(server: psycopg.Connection[Any], name: str) -> None:
    server.execute(SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name)))


@contextmanager
def use_database(name: str) -> Iterator[None]:
    """Connect this process to another database of the server inside the block."""
    former_name = str(settings.DATABASES["default"]["NAME"])
    _connect_to(name)
    try:
        yield
    finally:
        _connect_to(former_name)


def _connect_to(name: str) -> None:
    for alias in DATABASE_ALIASES:
        connection = connections[alias]
        connection.close()
        connection.close_pool()  # type: ignore[attr-defined]  # of Django's PostgreSQL
        connection.settings_dict["NAME"] = name
    clear_model_cache()
    scan_method_choice.clear_query_caches()


def check_restored_database(path: Path, name: str) -> Findings:
    """Return the findings of fsck in the restored database, with the backup's checkpoints."""
    address = env.address(settings.DATABASES["default"]) | {"dbname": name}
    with TemporaryDirectory() as folder, open_archive(path) as bundle:
        signed, keys = Path(folder, CHECKPOINTS_MEMBER), Path(folder, KEYS_MEMBER)
        signed.write_bytes(bundle.read(CHECKPOINTS_MEMBER))
        keys.write_bytes(bundle.read(KEYS_MEMBER))
        return check(Options(address=address, checkpoints=signed, public_keys=[keys]))


def load_restored_contents(name: str) -> Contents:
    with connect(env.address(settings.DATABASES["owner"]) | {"dbname": name}) as server:
        return load_contents(server)


def compare_heads(heads: Mapping[str, Head]) -> HeadComparison:
    """Compare the restored heads with the live chains."""
    account_ids: dict[str, set[UUID]] = {"equal": set(), "ancestors": set(), "diverged": set()}
    for account, head in heads.items():
        account_id = UUID(account)
        with acting(account_id):
            commits = Commit.objects.of(account_id)
            is_in_chain = commits.at(head).exists()
            last_seq = commits.last_seq()
        relation = (
            "diverged" if not is_in_chain else "equal" if last_seq == head.seq else "ancestors"
        )
        account_ids[relation].add(account_id)
    return HeadComparison(
        **{relation: frozenset(accounts) for relation, accounts in account_ids.items()}
    )
