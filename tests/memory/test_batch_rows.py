"""Rows of a batch, written by column, are the same as rows written one by one."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.database.bulk_insert import EncodedJson, NewRows, encode_rows
from kmapp.database.raw_sql import build_row
from kmapp.database.shared_values import has_one_value
from kmapp.ledger.actions import Recording, collect_seals, encode_bodies
from kmapp.ledger.canonical import digest, encode_canonical, encode_canonical_records
from kmapp.ledger.models import Commit, Seal
from memory.actions.record_versions import build_version, collect_first_versions
from memory.actions.write_entries import write_batch
from memory.models import MemoryEntry, MemoryVersion
from memory.models.entry_input import Batch, NewEntry, compute_digests
from tests.strategies import column_values

NOW = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
NUMBERS: list[Any] = [0, 0.0, -0.0, 1, 1.0, True, False, None]
SIMILAR = [*NUMBERS, "", [], {}, (), [1], [True], {"a": 1}, {"a": True}]


def columns_of(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, list[Any]]]:
    """Return columns of the same length, some of which have one value."""
    return st.integers(1, 4).flatmap(
        lambda number: st.dictionaries(
            st.sampled_from("abcdef"),
            st.lists(values, min_size=number, max_size=number)
            | values.map(lambda value: [value] * number),
            min_size=1,
        )
    )


def list_records(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@given(columns_of(column_values() | st.sampled_from(SIMILAR)))
def test_records_have_the_canonical_form(columns: dict[str, list[Any]]) -> None:
    expected = [encode_canonical(record) for record in list_records(columns)]
    assert encode_canonical_records(columns) == expected


def serialize(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


@given(columns_of(column_values() | st.sampled_from(SIMILAR)))
def test_encoded_rows_have_the_values_of_all_columns(columns: dict[str, list[Any]]) -> None:
    shared, others = map(json.loads, encode_rows(NewRows(MemoryEntry, columns)))
    expected = [
        {name: serialize(value) for name, value in record.items()}
        for record in list_records(columns)
    ]
    assert [json.dumps(shared | row, sort_keys=True) for row in others] == [
        json.dumps(row, sort_keys=True) for row in expected
    ]


def test_equal_values_that_are_written_differently_are_not_shared() -> None:
    for first in SIMILAR:
        for second in SIMILAR:
            if json.dumps(first) != json.dumps(second):
                assert not has_one_value([first, second]), (first, second)
    assert has_one_value([{}, {}])
    assert has_one_value(["a", "ab"[:1]])
    assert not has_one_value([{"a": 1}, {"a": True}])


def test_times_of_a_repeated_hour_are_not_shared() -> None:
    zone = ZoneInfo("America/New_York")
    before, after = (datetime(2026, 11, 1, hour, tzinfo=UTC).astimezone(zone) for hour in (5, 6))
    assert before == after
    columns = {"observed_at": [before, after]}
    assert encode_canonical_records(columns) == [
        encode_canonical({"observed_at": each}) for each in (before, after)
    ]
    assert json.loads(encode_rows(NewRows(MemoryEntry, columns))[1]) == [
        {"observed_at": "2026-11-01T01:00:00-04:00"},
        {"observed_at": "2026-11-01T01:00:00-05:00"},
    ]


def test_bytes_and_json_text_are_encoded() -> None:
    columns: dict[str, list[Any]] = {
        "salt": [b"a", b"\xff"],
        "state": [EncodedJson('{"a": "é"}'), EncodedJson("1")],
    }
    shared, others = encode_rows(NewRows(Seal, columns))
    assert shared == "{}"
    assert json.loads(others) == [
        {"salt": "\\x61", "state": {"a": "é"}},
        {"salt": "\\xff", "state": 1},
    ]


def build_entries(account_id: UUID) -> list[MemoryEntry]:
    different: Sequence[dict[str, Any]] = (
        {"content": "Tea.", "slots": {"a": 1}, "importance": 0.5},
        {"content": "茶。", "slots": {"a": True}, "tags": ["x"], "importance": 0.0, "pinned": True},
        {"content": "", "client_id": "c", "sources": [{"a": [None]}], "half_life_days": 1},
        {"content": '"\\\n', "valid_from": NOW, "flags": ["instructions"], "version": 2},
    )
    return [
        MemoryEntry(
            account_id=account_id,
            written_in=uuid4(),
            position=place,
            observed_at=NOW - timedelta(days=place),
            created_at=NOW,
            updated_at=NOW + timedelta(seconds=place),
            **values,
        )
        for place, values in enumerate(different)
    ]


def test_bodies_and_versions_are_those_of_single_rows() -> None:
    entries = build_entries(uuid4())
    for rows in (entries, entries[:1], entries[:2]):
        bodies = encode_bodies(rows)
        assert bodies == [encode_canonical(row.body()) for row in rows]
        commit = Recording(account_id=rows[0].account_id, actor=SYSTEM, input=None, reason="why")
        versions = collect_first_versions(rows, bodies, commit, "why").columns
        names = {str(field.column) for field in MemoryVersion._meta.concrete_fields}
        assert versions.keys() == names
        for place, row in enumerate(rows):
            expected = build_version(row, commit, "why")
            for name in names - {"id", "state"}:
                assert versions[name][place] == getattr(expected, name), name
            assert json.loads(versions["state"][place]) == expected.state


def test_seals_have_every_column() -> None:
    """A column that is left out would be NULL."""
    entry = build_entries(uuid4())[0]
    commit = Recording(account_id=entry.account_id, actor=SYSTEM, input=None, reason="why")
    commit.add(entry, "ADD")
    seals = collect_seals(commit)
    assert isinstance(seals, NewRows)
    assert seals.columns.keys() == {str(field.column) for field in Seal._meta.concrete_fields}
    assert seals.columns["object_id"] == (entry.pk,)


def test_digests_of_a_batch_are_those_of_single_drafts() -> None:
    drafts = [
        NewEntry(text="Tea.", user_id="u"),
        NewEntry(text="茶。", user_id="u", metadata={"a": True}, observed_at=NOW),
        NewEntry(text="茶。", user_id="u", metadata={"a": 1}, confidence=1, tags=("x",)),
    ]
    for batch in ([], drafts[:1], drafts[1:], drafts):
        assert compute_digests(batch) == [draft.sha256() for draft in batch]


def test_row_is_built_like_by_its_model() -> None:
    values = {"id": uuid4(), "account_id": uuid4(), "content": "Tea.", "tags": ["x"]}
    names = [field.attname for field in MemoryEntry._meta.concrete_fields]
    row, expected = build_row(MemoryEntry, values), MemoryEntry(**values)
    assert [getattr(row, name) for name in names] == [getattr(expected, name) for name in names]
    assert row._state.adding  # noqa: SLF001
    assert row.slots is not build_row(MemoryEntry, values).slots
    with pytest.raises(TypeError, match="colour"):
        build_row(MemoryEntry, {**values, "colour": "red"})


def test_batch_is_stored_as_it_is_returned(acme: Account) -> None:
    drafts = [
        NewEntry(text="Tea.", metadata={"a": 1}, tags=["x"], importance=0.0),
        NewEntry(text="Tea?", metadata={"a": True}, user_id="u", run_id="r", confidence=1),
        NewEntry(text="茶。", metadata={"a": 1.5}, client_id="c", half_life_days=2, tier="cold"),
    ]
    for batch in (drafts, [NewEntry(text="Alone.")], [NewEntry(text=f"{i}") for i in range(3)]):
        with acting(acme):
            written = write_batch(
                account_id=acme.pk, actor=SYSTEM, batch=Batch(entries=batch, reason="why")
            )
            assert written.commit
            commit_id = written.commit.pk
            rows = MemoryEntry.objects.of(acme).in_bulk([each.pk for each in written.entries])
            versions = MemoryVersion.objects.of(acme).filter(commit_id=commit_id)
            states = {each.entry_id: each for each in versions}
            salts = dict(
                Seal.objects.of(acme).filter(commit_id=commit_id).values_list("object_id", "salt")
            )
            [changes] = Commit.objects.of(acme).filter(pk=commit_id).values_list("diff")
        digests = {change["object"]: change["digest"] for change in changes[0]}
        assert rows.keys() == states.keys() == salts.keys() == {e.pk for e in written.entries}
        for entry in written.entries:
            row, version = rows[entry.pk], states[entry.pk]
            assert row.body() == entry.body()
            assert encode_canonical(version.state) == encode_canonical(row.body())
            assert (version.version, version.event, version.reason) == (1, "ADD", "why")
            sealed = digest(bytes(salts[entry.pk]), row.body())
            assert digests[f"memory.memoryentry:{entry.pk}"] == sealed
