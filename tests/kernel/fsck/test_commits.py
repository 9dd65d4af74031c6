"""fsck reports every edit of the chain, and nothing about an untouched ledger."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from django.conf import settings

from kmapp.ledger.fsck import database_snapshot
from kmapp.runtime import env
from tests import makers
from tests.kernel.fsck.fixtures import COMMITS, Ledger
from tests.promises.plugin import RecordFigure


@pytest.mark.promise(26)
def test_untouched_ledger_has_no_problems(ledger: Ledger) -> None:
    makers.settle()
    assert ledger.problems() == []
    assert "all as sealed" in makers.run_command("fsck", "--account", ledger.account.slug)


@pytest.fixture
def open_connection(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let fsck use one connection, because opening one takes longer than reading these chains."""
    with psycopg.connect(**env.address(settings.DATABASES["default"])) as connection:

        @contextmanager
        def connect(**_address: Any) -> Iterator[psycopg.Connection[Any]]:
            yield connection
            connection.rollback()

        names = SimpleNamespace(connect=connect, IsolationLevel=psycopg.IsolationLevel)
        monkeypatch.setattr(database_snapshot, "psycopg", names)
        yield


@pytest.mark.promise(26)
@pytest.mark.usefixtures("open_connection")
def test_100_edits_of_commits_are_reported_with_their_number(
    ledger: Ledger, record_figure: RecordFigure
) -> None:
    rng = random.Random(7)  # noqa: S311
    columns = list(ledger.intruder.columns("ledger_commit"))
    assert len(columns) == 10
    rows = ledger.intruder.run(
        "SELECT id, seq FROM ledger_commit WHERE account_id = %s", ledger.account.pk
    ).fetchall()
    assert len(rows) >= COMMITS
    for number in range(100):
        column = columns[number % len(columns)]
        ident, seq = rng.choice(rows)
        with ledger.intruder.spoiled("ledger_commit", column, ident):
            named = {problem["seq"] for problem in ledger.problems("--chain-only")}
        assert {seq, seq + 1, seq + 1000} & named, (column, seq, named)
        assert ledger.problems("--chain-only") == []
    assert ledger.problems() == []
    record_figure("100 of 100 found, 0 false alarms in 101 checks between them")


def test_signed_heads_are_signed_once_and_a_bc_date_is_reported(ledger: Ledger) -> None:
    before = settings.CHECKPOINT_FILE.read_bytes()
    assert "signed before" in makers.run_command("checkpoint")
    assert settings.CHECKPOINT_FILE.read_bytes() == before
    ledger.intruder.run(
        "UPDATE ledger_commit SET created_at = (replace(created_at::text, '+00', '') || ' BC')"
        "::timestamptz WHERE seq = 2"
    )
    assert [problem["kind"] for problem in ledger.problems()] == ["hash", "hash"]
