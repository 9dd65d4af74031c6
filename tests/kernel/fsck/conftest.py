"""A ledger to tamper with: created once for each worker and copied for each test."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from pytest_django import DjangoDbBlocker

from kmapp.management.account_lookup import get_account
from tests import makers
from tests.databases import clone, drop, other_connections, use_database
from tests.kernel.fsck.fixtures import Ledger, create_history
from tests.kernel.fsck.tampering import Intruder


@dataclass(frozen=True)
class FilledDatabase:
    """A database with the history of two accounts, and the folder of its signed checkpoints."""

    database: str
    folder: Path


@pytest.fixture(scope="session")
def filled_database(
    django_db_setup: None,
    worker_database: str,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[FilledDatabase]:
    name, folder = f"{worker_database}_filled", tmp_path_factory.mktemp("signed")
    clone(name)
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
        use_database(name)
        patch.setattr(settings, "CHECKPOINT_FILE", folder / "checkpoints.ndjson")
        patch.setattr(settings, "CHECKPOINT_KEY_FILE", folder / "checkpoint.ed25519")
        for each in ("Acme", "Rival"):
            create_history(makers.account(each))
        call_command("checkpoint", stdout=StringIO())
        Intruder(name).connection.close()  # its constructor drops the constraints of all copies
        connections.close_all()
        use_database(worker_database)
        yield FilledDatabase(name, folder)
        drop(name)


@pytest.fixture
def ledger(
    filled_database: FilledDatabase, worker_database: str, tmp_path: Path
) -> Iterator[Ledger]:
    """Copy the filled database and its checkpoints for one test."""
    name = f"{worker_database}_tampered"
    clone(name, template=filled_database.database)
    signed = Path(shutil.copytree(filled_database.folder, tmp_path / "signed"))
    with pytest.MonkeyPatch.context() as patch, other_connections():
        use_database(name)
        patch.setattr(settings, "CHECKPOINT_FILE", signed / "checkpoints.ndjson")
        patch.setattr(settings, "CHECKPOINT_KEY_FILE", signed / "checkpoint.ed25519")
        intruder = Intruder(name)
        try:
            yield Ledger(get_account("acme"), intruder)
        finally:
            intruder.connection.close()
            drop(name)
