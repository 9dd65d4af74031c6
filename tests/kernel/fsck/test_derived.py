"""fsck reports wrong vectors, postings and references."""

from collections.abc import Iterator
from contextlib import contextmanager

from kmapp.accounts.acting import acting
from kmapp.search.posting_packing import pack_recent
from memory.models import MemoryEntry
from memory.models.entries import COLLECTION
from tests import makers
from tests.kernel.fsck.fixtures import Ledger
from tests.kernel.fsck.tampering import Intruder


def list_bad_postings(ledger: Ledger) -> dict[str, str]:
    return {p["object"]: p["message"] for p in ledger.problems() if p["kind"] == "posting"}


def test_missing_codes_and_ready_vectors_without_values_are_reported(ledger: Ledger) -> None:
    makers.settle()
    assert ledger.problems() == []
    ledger.intruder.run("UPDATE search_indexeddocument SET coding = 0")
    message = "its vectors have no codes, and it does not wait for them"
    assert {*list_bad_postings(ledger).values()} == {message}
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


def test_missing_words_are_reported(ledger: Ledger) -> None:
    with acting(ledger.account):
        one, two = MemoryEntry.objects.of(ledger.account).order_by("pk")[:2]
    indexed = "search_indexeddocument"
    ledger.intruder.run(f"DELETE FROM {indexed} WHERE document = %s", one.pk)  # noqa: S608
    ledger.intruder.run(f"UPDATE {indexed} SET length = length + 1 WHERE document = %s", two.pk)  # noqa: S608
    bad = list_bad_postings(ledger)
    assert bad[f"memory.memoryentry:{one.pk}"] == "its words are not indexed"
    assert bad[f"memory.memoryentry:{two.pk}"] == "its terms do not add up to its length"


def test_malformed_words_do_not_end_the_check(ledger: Ledger) -> None:
    pack_recent(ledger.account.pk, COLLECTION, at_least=1)
    with acting(ledger.account):
        rows = MemoryEntry.objects.of(ledger.account).order_by("pk")[:3]
        extended = """terms || '{"tea bag": "much"}'"""
        malformed = dict(zip(("'[1]'", "'\"tea\"'", extended), rows, strict=True))
    for terms, row in malformed.items():
        ledger.intruder.run(
            f"UPDATE search_indexeddocument SET terms = {terms} WHERE document = %s",  # noqa: S608
            row.pk,
        )
    message = "its terms do not add up to its length"
    expected = {f"memory.memoryentry:{row.pk}": message for row in malformed.values()}
    assert expected.items() <= list_bad_postings(ledger).items()


@contextmanager
def restored(intruder: Intruder, table: str) -> Iterator[None]:
    """Restore the rows of a table afterwards."""
    intruder.run(f"CREATE TEMP TABLE saved AS TABLE {table}")
    yield
    intruder.run(f"DELETE FROM {table}")  # noqa: S608
    intruder.run(f"INSERT INTO {table} TABLE saved")
    intruder.run("DROP TABLE saved")


def test_wrong_packed_postings_and_reader_groups_are_reported(ledger: Ledger) -> None:
    pack_recent(ledger.account.pk, COLLECTION, at_least=1)
    assert list_bad_postings(ledger) == {}
    postings, groups = "search_packedpostings", "search_packedreadergroup"
    term = ledger.intruder.one(f"SELECT term FROM {postings} LIMIT 1")  # noqa: S608
    for change in (
        f"DELETE FROM {postings}",  # noqa: S608
        f"UPDATE {postings} SET postings = postings || postings",  # noqa: S608
        f"UPDATE {postings} SET term = term || 'x'",  # noqa: S608
    ):
        with restored(ledger.intruder, postings):
            ledger.intruder.run(f"{change} WHERE term = %s", term)
            assert f"{COLLECTION}:{term}" in list_bad_postings(ledger), change
    group = ledger.intruder.one(f"SELECT reader_group FROM {groups} LIMIT 1")  # noqa: S608
    message = "its packed numbers are not those of its documents"
    for change in (
        f"DELETE FROM {groups}",  # noqa: S608
        f"UPDATE {groups} SET numbers = numbers || '\\x00001000'",  # noqa: S608
        f"UPDATE {groups} SET reader_group = 'user:x'",  # noqa: S608
    ):
        with restored(ledger.intruder, groups):
            ledger.intruder.run(f"{change} WHERE reader_group = %s", group)
            assert list_bad_postings(ledger)[f"{COLLECTION}:{group}"] == message, change
    assert list_bad_postings(ledger) == {}


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
