"""fsck reports every change of a sealed row, version, salt or note."""

import random
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain, zip_longest
from typing import Any, NamedTuple

import pytest
from django.apps import apps

from kmapp.ledger.fsck.sealed_tables import SEALED, get_object_type
from tests.kernel.fsck.fixtures import COMMITS, Ledger
from tests.promises.plugin import RecordFigure

pytestmark = pytest.mark.promise(27)

COLUMNS = {
    table: sorted({str(field.column) for field in model._meta.concrete_fields} - SEALED[table])
    for table in SEALED
    for model in apps.get_models()
    if model._meta.db_table == table
}
ACCOUNTS = "accounts_account"  # a change of an account hides other problems


class Change(NamedTuple):
    """A column of a row to be changed."""

    table: str
    column: str
    ident: Any


def list_change_rounds(ledger: Ledger) -> Iterator[list[Change]]:
    """Yield lists of changes for one run of fsck each, at most one change of a row."""
    others = [split_into_rounds(table, ledger.ids(table)) for table in COLUMNS if table != ACCOUNTS]
    for changes in zip_longest(*others, fillvalue=()):
        yield list(chain.from_iterable(changes))
    for column in COLUMNS[ACCOUNTS]:
        ident = random.Random(column).choice(ledger.ids(ACCOUNTS))  # noqa: S311
        yield [Change(ACCOUNTS, column, ident)]


def split_into_rounds(table: str, idents: list[Any]) -> Iterator[list[Change]]:
    """Yield lists of changes of different rows, until each column of the table was changed."""
    left = [column for column in COLUMNS[table] if column != "id"]
    random.Random(table).shuffle(idents)  # noqa: S311
    yield [Change(table, "id", idents[0])]
    while left:
        yield [Change(table, column, ident) for column, ident in zip(left, idents, strict=False)]
        left = left[len(idents) :]


def is_reported(change: Change, objects: list[str]) -> bool:
    kind = f"{get_object_type(change.table)}:"
    if change.column != "id":
        return f"{kind}{change.ident}" in objects
    # fsck reports two problems: a sealed row is missing, and another row was never sealed.
    return len([each for each in objects if each.startswith(kind) or change.table == ACCOUNTS]) > 1


def test_every_sealed_column_is_verified(ledger: Ledger, record_figure: RecordFigure) -> None:
    missed, made = [], set()
    for changes in list_change_rounds(ledger):
        with ExitStack() as stack:
            for change in changes:
                stack.enter_context(ledger.intruder.spoiled(*change))
            objects = [problem["object"] for problem in ledger.problems()]
        missed += [change for change in changes if not is_reported(change, objects)]
        made |= {(change.table, change.column) for change in changes}
    assert made == {(table, column) for table in COLUMNS for column in COLUMNS[table]}
    record_figure(f"{len(made) - len(missed)} of {len(made)} columns")
    assert not missed
    assert ledger.problems() == []


def test_statistics_may_change(ledger: Ledger) -> None:
    ledger.intruder.run("UPDATE memory_memoryentry SET access_count = 9, last_accessed_at = now()")
    ledger.intruder.run("UPDATE accounts_apikey SET last_used_at = now()")
    assert ledger.problems() == []


def test_deleted_rows_are_reported(ledger: Ledger) -> None:
    deleted = {table: ledger.ids(table)[0] for table in SEALED if table != ACCOUNTS}
    for table, ident in deleted.items():
        ledger.intruder.run(f"DELETE FROM {table} WHERE id = %s", ident)  # noqa: S608
    objects = {problem["object"] for problem in ledger.problems()}
    assert {f"{get_object_type(table)}:{ident}" for table, ident in deleted.items()} <= objects


def test_unsealed_row_is_reported(ledger: Ledger) -> None:
    columns = ", ".join(ledger.intruder.columns("accounts_apikey"))
    values = columns.replace("id,", "gen_random_uuid(),", 1).replace("prefix", "'forged'")
    ledger.intruder.run(
        f"INSERT INTO accounts_apikey ({columns}) SELECT {values} FROM accounts_apikey LIMIT 1"  # noqa: S608
    )
    assert [p["message"] for p in ledger.problems() if p["kind"] == "row"] == ["was never sealed"]


def test_restored_older_row_is_reported(ledger: Ledger) -> None:
    """The row and its salt are those of an older commit; the newer commits remain."""
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


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("DELETE FROM accounts_account WHERE slug = 'acme'", "account"),
        ("DELETE FROM memory_memoryversion WHERE version = 1", "version"),
        ("DELETE FROM ledger_seal WHERE object_type = 'accounts.membership'", "row"),
    ],
    ids=["account", "version", "salt"],
)
def test_deleted_history_is_reported(ledger: Ledger, statement: str, kind: str) -> None:
    ledger.intruder.run(statement)
    assert kind in ledger.kinds()


def test_written_edge_marked_as_derived_is_reported(ledger: Ledger) -> None:
    ledger.intruder.run("UPDATE memory_memoryedge SET origin = 'derived', commit_id = NULL")
    assert ledger.kinds() == {"row"}


def test_edited_versions_and_notes_are_reported(ledger: Ledger) -> None:
    for column in ("state", "event", "actor", "version", "entry_id", "commit_id"):
        for ident in ledger.ids("memory_memoryversion")[:4]:
            with ledger.intruder.spoiled("memory_memoryversion", column, ident):
                assert "version" in ledger.kinds("--chain-only"), column
    for column in ("input", "reason"):
        for ident in ledger.ids("ledger_note")[:3]:
            with ledger.intruder.spoiled("ledger_note", column, ident):
                assert ledger.kinds() == {"note"}, column


DEEP = "(repeat('[', 3000) || repeat(']', 3000))::jsonb"


@pytest.mark.parametrize(
    ("table", "assignment"),
    [
        ("ledger_commit", """diff = '[{"object": [], "op": "ADD", "digest": "x"}]'"""),
        ("ledger_commit", f"diff = {DEEP}"),
        ("rules_rule", f'"when" = {DEEP}'),
        ("rules_ruleversion", f"state = {DEEP}"),
        ("ledger_note", f"input = {DEEP}"),
    ],
)
def test_malformed_value_does_not_end_the_check(
    ledger: Ledger, table: str, assignment: str
) -> None:
    spoiled, other = ledger.ids(table)[0], ledger.ids("memory_memoryentry")[0]
    ledger.intruder.run(f"UPDATE {table} SET {assignment} WHERE id = %s", spoiled)  # noqa: S608
    ledger.intruder.run("UPDATE memory_memoryentry SET title = 'Sold' WHERE id = %s", other)
    problems = ledger.problems()
    assert f"memory.memoryentry:{other}" in {problem["object"] for problem in problems}
    assert len(problems) > 1


def test_note_emptied_without_erasure_is_reported(ledger: Ledger) -> None:
    ledger.intruder.run("UPDATE ledger_note SET salt = NULL, input = NULL, reason = ''")
    seqs = {problem["seq"] for problem in ledger.problems() if problem["kind"] == "note"}
    assert len(seqs) >= COMMITS - 2  # the membership that was removed has no note
