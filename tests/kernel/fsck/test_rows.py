"""Every sealed row, version, salt and note is guarded."""

import random
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import zip_longest

import pytest
from django.apps import apps

from kmapp.ledger.fsck.tables import SEALED, kind_of
from tests.kernel.fsck.fixtures import COMMITS, Ledger
from tests.promises.plugin import Measured

pytestmark = pytest.mark.promise(27)

COLUMNS = {
    table: sorted({str(field.column) for field in model._meta.concrete_fields} - SEALED[table])
    for table in SEALED
    for model in apps.get_models()
    if model._meta.db_table == table
}
ALONE = "accounts_account"  # whose row is wrong has a ledger that says nothing of the others


def rounds() -> Iterator[dict[str, str]]:
    """Columns to spoil at once, one of each table: to read everything takes its time."""
    others = {table: columns for table, columns in COLUMNS.items() if table != ALONE}
    for columns in zip_longest(*others.values()):
        yield {table: column for table, column in zip(others, columns, strict=True) if column}
    for column in COLUMNS[ALONE]:
        yield {ALONE: column}


def noticed(table: str, column: str, ident: object, found: list[str]) -> bool:
    kind = f"{kind_of(table)}:"
    if column != "id":
        return f"{kind}{ident}" in found
    # One row has vanished, one was never sealed.
    return len([each for each in found if each.startswith(kind) or table == ALONE]) > 1


def test_every_sealed_column_is_verified(ledger: Ledger, measured: Measured) -> None:
    missed = []
    for spoiled in rounds():
        idents = {
            table: random.Random(column).choice(ledger.ids(table))  # noqa: S311
            for table, column in spoiled.items()
        }
        with ExitStack() as stack:
            for table, column in spoiled.items():
                stack.enter_context(ledger.intruder.spoiled(table, column, idents[table]))
            found = [problem["object"] for problem in ledger.problems()]
        for table, column in spoiled.items():
            if not noticed(table, column, idents[table], found):
                missed.append((table, column))
    columns = sum(map(len, COLUMNS.values()))
    measured(f"{columns - len(missed)} of {columns} columns")
    assert not missed
    assert ledger.problems() == []


def test_statistics_may_change(ledger: Ledger) -> None:
    ledger.intruder.run("UPDATE memory_memoryentry SET access_count = 9, last_accessed_at = now()")
    ledger.intruder.run("UPDATE accounts_apikey SET last_used_at = now()")
    assert ledger.problems() == []


@pytest.mark.parametrize("table", SEALED)
def test_deleted_row_is_reported(ledger: Ledger, table: str) -> None:
    ident = ledger.ids(table)[0]
    ledger.intruder.run(f"DELETE FROM {table} WHERE id = %s", ident)  # noqa: S608
    assert f"{kind_of(table)}:{ident}" in {problem["object"] for problem in ledger.problems()} or (
        table == "accounts_account" and "account" in ledger.kinds()
    )


def test_unsealed_row_is_reported(ledger: Ledger) -> None:
    columns = ", ".join(ledger.intruder.columns("accounts_apikey"))
    values = columns.replace("id,", "gen_random_uuid(),", 1).replace("prefix", "'forged'")
    ledger.intruder.run(
        f"INSERT INTO accounts_apikey ({columns}) SELECT {values} FROM accounts_apikey LIMIT 1"  # noqa: S608
    )
    assert [p["message"] for p in ledger.problems() if p["kind"] == "row"] == ["was never sealed"]


def test_restored_older_row_is_reported(ledger: Ledger) -> None:
    """The row says what an older commit sealed, salt and all; the newer commits are still there."""
    entry, first = ledger.intruder.run(
        "SELECT v.entry_id, v.commit_id FROM memory_memoryversion v WHERE v.version = 1 AND EXISTS"
        " (SELECT FROM memory_memoryversion n WHERE n.entry_id = v.entry_id AND n.version = 2)"
        " LIMIT 1"
    ).fetchall()[0]
    ledger.intruder.run(
        "UPDATE memory_memoryentry e SET version = 1, commit_id = %s,"
        " content = v.state->>'content', pinned = coalesce((v.state->>'pinned')::boolean, false),"
        " slots = coalesce(v.state->'slots', '{}'),"
        " updated_at = (v.state->>'updated_at')::timestamptz"
        " FROM memory_memoryversion v WHERE v.entry_id = e.id AND v.version = 1 AND e.id = %s",
        *(first, entry),
    )
    (problem,) = [p for p in ledger.problems() if p["kind"] == "row"]
    assert problem["object"] == f"memory.memoryentry:{entry}"
    assert "a commit other than its last" in problem["message"]


def test_written_edge_marked_as_derived_is_reported(ledger: Ledger) -> None:
    ledger.intruder.run("UPDATE memory_memoryedge SET origin = 'derived', commit_id = NULL")
    assert {"row"} == ledger.kinds()


@pytest.mark.parametrize("column", ["state", "event", "actor", "version", "entry_id", "commit_id"])
def test_edited_version_is_reported(ledger: Ledger, column: str) -> None:
    for ident in ledger.ids("memory_memoryversion")[:4]:
        with ledger.intruder.spoiled("memory_memoryversion", column, ident):
            assert "version" in ledger.kinds()


def test_deleted_version_is_reported(ledger: Ledger) -> None:
    ledger.intruder.run("DELETE FROM memory_memoryversion WHERE version = 1")
    assert "version" in ledger.kinds()


def test_deleted_salt_is_reported(ledger: Ledger) -> None:
    ledger.intruder.run("DELETE FROM ledger_seal WHERE object_type = 'accounts.membership'")
    assert "row" in ledger.kinds()


@pytest.mark.parametrize("column", ["input", "reason"])
def test_edited_note_is_reported(ledger: Ledger, column: str) -> None:
    for ident in ledger.ids("ledger_note")[:3]:
        with ledger.intruder.spoiled("ledger_note", column, ident):
            assert ledger.kinds() == {"note"}


def test_note_emptied_without_erasure_is_reported(ledger: Ledger) -> None:
    ledger.intruder.run("UPDATE ledger_note SET salt = NULL, input = NULL, reason = ''")
    found = {problem["seq"] for problem in ledger.problems() if problem["kind"] == "note"}
    assert len(found) >= COMMITS - 2  # but for the member who was added and removed
