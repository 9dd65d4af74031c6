"""fsck reports wrong vectors, postings and references."""

import pytest

from kmapp.accounts.acting import acting
from memory.models import MemoryEntry
from tests import makers
from tests.kernel.fsck.fixtures import Ledger


def test_ready_vectors_without_values_are_reported(ledger: Ledger) -> None:
    makers.settle()
    assert ledger.problems() == []
    one, two = ledger.ids("search_vector")[:2]
    ledger.intruder.run("UPDATE search_vector SET embedding = NULL WHERE id = %s", one)
    names = ledger.intruder.run("SELECT indexname FROM pg_indexes WHERE indexdef LIKE '%%hnsw%%'")
    for (name,) in names.fetchall():
        ledger.intruder.run(f"DROP INDEX {name}")
    ledger.intruder.run("UPDATE search_vector SET embedding = '[1,2,3]' WHERE id = %s", two)
    messages = {p["message"] for p in ledger.problems() if p["kind"] == "vector"}
    assert {message.rpartition(" with ")[2] for message in messages} == {
        "no embedding",
        "3 dimensions instead of 384",
    }


@pytest.mark.parametrize(
    ("where", "message"),
    [("true", "has no postings"), ("term <> '' AND document = %s", "its postings do not add up")],
)
def test_missing_postings_are_reported(ledger: Ledger, where: str, message: str) -> None:
    with acting(ledger.account):
        entry = MemoryEntry.objects.of(ledger.account).first()
    assert entry is not None
    params = [entry.pk] if "%s" in where else []
    ledger.intruder.run(
        "DELETE FROM search_termposting WHERE ctid IN (SELECT ctid FROM search_termposting"  # noqa: S608
        f" WHERE {where} LIMIT {1 if params else 1000})",
        *params,
    )
    results = {p["object"]: p["message"] for p in ledger.problems() if p["kind"] == "posting"}
    assert results[f"memory.memoryentry:{entry.pk}"] == message


def test_edge_into_another_account_is_reported(ledger: Ledger) -> None:
    foreign_id = ledger.intruder.one(
        "SELECT id FROM memory_memoryentry WHERE account_id <> %s LIMIT 1", ledger.account.pk
    )
    ledger.intruder.run(
        "UPDATE memory_memoryedge SET dst_id = %s WHERE account_id = %s",
        foreign_id,
        ledger.account.pk,
    )
    results = [p for p in ledger.problems() if p["kind"] == "reference"]
    assert [p["message"] for p in results] == [
        "dst_id names no row of memory_memoryentry in this account"
    ]
