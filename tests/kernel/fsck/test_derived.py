"""fsck reports wrong vectors, postings and references."""

import pytest

from kmapp.accounts.acting import acting
from kmapp.search.packing import pack_recent
from memory.models import MemoryEntry
from memory.models.entries import COLLECTION
from tests import makers
from tests.kernel.fsck.fixtures import Ledger


def list_bad_postings(ledger: Ledger) -> dict[str, str]:
    return {p["object"]: p["message"] for p in ledger.problems() if p["kind"] == "posting"}


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
    ("statement", "message"),
    [
        ("DELETE FROM search_indexeddocument WHERE document = %s", "its words are not indexed"),
        (
            "UPDATE search_indexeddocument SET length = length + 1 WHERE document = %s",
            "its terms do not add up to its length",
        ),
    ],
)
def test_missing_words_are_reported(ledger: Ledger, statement: str, message: str) -> None:
    with acting(ledger.account):
        entry = MemoryEntry.objects.of(ledger.account).first()
    assert entry is not None
    ledger.intruder.run(statement, entry.pk)
    assert list_bad_postings(ledger)[f"memory.memoryentry:{entry.pk}"] == message


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM search_packedpostings WHERE term = %s",
        "UPDATE search_packedpostings SET postings = postings || postings WHERE term = %s",
        "UPDATE search_packedpostings SET term = term || 'x' WHERE term = %s",
    ],
)
def test_wrong_packed_postings_are_reported(ledger: Ledger, statement: str) -> None:
    pack_recent(ledger.account.pk, COLLECTION, at_least=1)
    assert list_bad_postings(ledger) == {}
    term = ledger.intruder.one("SELECT term FROM search_packedpostings LIMIT 1")
    ledger.intruder.run(statement, term)
    assert f"{COLLECTION}:{term}" in list_bad_postings(ledger)


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


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM search_packedreadergroup WHERE reader_group = %s",
        "UPDATE search_packedreadergroup SET numbers = numbers || '\\x00001000'"
        " WHERE reader_group = %s",
        "UPDATE search_packedreadergroup SET reader_group = 'user:x' WHERE reader_group = %s",
    ],
)
def test_wrong_reader_groups_are_reported(ledger: Ledger, statement: str) -> None:
    pack_recent(ledger.account.pk, COLLECTION, at_least=1)
    assert list_bad_postings(ledger) == {}
    reader_group = ledger.intruder.one("SELECT reader_group FROM search_packedreadergroup LIMIT 1")
    ledger.intruder.run(statement, reader_group)
    message = "its packed numbers are not those of its documents"
    assert list_bad_postings(ledger)[f"{COLLECTION}:{reader_group}"] == message


def test_documents_without_codes_are_reported(ledger: Ledger) -> None:
    makers.settle()
    assert list_bad_postings(ledger) == {}
    ledger.intruder.run("UPDATE search_indexeddocument SET coding = 0")
    message = "its vectors have no codes, and it does not wait for them"
    assert {*list_bad_postings(ledger).values()} == {message}
