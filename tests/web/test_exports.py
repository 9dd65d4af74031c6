"""Exports of filtered memories as CSV and NDJSON."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from kmapp.ledger.models import Commit
from memory.models import MemoryEdge, MemoryEntry, MemoryExport
from memory.models.entry_input import NewEntry
from memory.transfer.csv_export import COLUMNS, format_cell
from memory.transfer.export import export_account
from memory.transfer.jsonl import serialize_row
from tests import makers
from tests.web.test_entries import remember


def export_bytes(client: Client, form: str, query: str = "") -> bytes:
    answer = client.post(f"/memory/export/?{query}", {"form": form})
    assert answer.status_code == 200
    assert "attachment" in answer.headers["Content-Disposition"]
    return b"".join(answer)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ("=1+1", "'=1+1"),
        (" +1", "' +1"),
        ("\t@x", "'\t'@x"),
        ("a;=cmd", "a;'=cmd"),
        ('a\n "=cmd', "a\n'" + ' "=cmd'),
        ("a\n-1", "a\n'-1"),
        ("a\n- b; c", "a\n- b; c"),
        ("-1", "'-1"),
        ("＝1", "'＝1"),
        ("a=b", "a=b"),
        (0.5, "0.5"),
        (None, ""),
        (True, "True"),
        (["=x", "y"], "'=x, y"),
        ({"a": "茶"}, '{"a": "茶"}'),
        ([{"a": 1}], '[{"a": 1}]'),
    ],
)
def test_cells_are_not_formulas(value: Any, text: str) -> None:
    assert format_cell(value) == text


def test_csv_contains_filtered_entries(reviewer: Client, acme: Account) -> None:
    odd = '=cmd|"/c calc"!A1, 茶\nsecond line'
    remember(acme, odd, "A fact.", kind="fact", tags=["@tag"], metadata={"a": 1})
    remember(acme, "An event.", kind="event")
    makers.settle()
    raw = export_bytes(reviewer, "csv", "kind=fact&sort=created_at")
    rows = list(csv.DictReader(io.StringIO(raw.decode("utf-8-sig"))))
    assert list(rows[0]) == list(COLUMNS)
    assert [row["text"] for row in rows] == [f"'{odd}", "A fact."]
    assert rows[0]["tags"] == "'@tag"
    assert b"embedding" not in raw
    result = list(
        csv.DictReader(io.StringIO(export_bytes(reviewer, "csv", "q=event").decode("utf-8-sig")))
    )
    assert result[0]["text"] == "An event."


def test_export_is_recorded(reviewer: Client, acme: Account, alice: User) -> None:
    remember(acme, "A fact.", "Another.")
    for query, form in (("colour=red", "csv"), ("", "xls"), ("", ""), ("kind=odd", "ndjson")):
        answer = reviewer.post(f"/memory/export/?{query}", {"form": form})
        assert answer.status_code == 400, (query, form)
    assert not makers.rows(MemoryExport, acme)
    export_bytes(reviewer, "csv", "kind=fact")
    with acting(acme):
        export = MemoryExport.objects.get()
        assert (export.form, export.number, export.query) == ("csv", 2, "kind=fact")
        assert export.taken_by == f"user:{alice.pk}"
        [change] = Commit.objects.get(pk=export.commit_id).diff
        assert (change["object"], change["op"]) == (f"memory.memoryexport:{export.pk}", "EXPORT")


def test_ndjson_round_trip(
    committed: str, reviewer: Client, acme: Account, rival: Account, tmp_path: Path
) -> None:
    makers.write(
        acme,
        NewEntry(text="One 茶.", client_id="a", user_id="u", tags=["t"], metadata={"n": 1.5}),
        NewEntry(text="Two.", client_id="b", user_id="u", run_id="r"),
        NewEntry(text="Three.", client_id="c", user_id="u", kind="event"),
        edges=[makers.edge("part_of", "a", "b"), makers.edge("mentions", "a", "c")],
    )
    raw = export_bytes(reviewer, "ndjson", "kind=fact")
    lines = [json.loads(line) for line in raw.splitlines()]
    assert [line["object"] for line in lines] == ["memories", "entry", "entry", "edge"]
    # A full export is imported into an account without memories.
    whole = export_bytes(reviewer, "ndjson", "sort=created_at")
    assert {*whole.splitlines()} == {*b"".join(export_account(acme.pk)).splitlines()}
    (tmp_path / "all.ndjson").write_bytes(whole)
    with acting(acme):
        before = [serialize_row(row) for row in MemoryEntry.objects.of(acme).order_by("pk")]
    makers.settle()
    erase_all(acme)
    out = io.StringIO()
    call_command(
        "memories", "import", "--account", "rival", str(tmp_path / "all.ndjson"), stdout=out
    )
    with acting(rival):
        assert [
            serialize_row(row) for row in MemoryEntry.objects.of(rival).order_by("pk")
        ] == before
        assert MemoryEdge.objects.of(rival).exclude(commit=None).count() == 2


def erase_all(account: Account) -> None:
    """Delete all memories, so that another account can import their ids."""
    with acting(account):
        MemoryEntry.objects.of(account).delete()
