"""Searches read the packed data of the viewer's reader groups, with the same results as without."""

from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
from django.db import connection, connections

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.providers.active_models import active_model
from kmapp.search import nearest_search, reader_group_search, vector_code_packing
from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.models import CodeCentre, IndexedDocument, PackedCodes, PackedReaderGroup, Vector
from kmapp.search.packed_array_tables import unpack_numbers
from kmapp.search.posting_packing import pack_recent, purge_removed
from kmapp.search.query_vector import QueryVector
from kmapp.search.tasks import pack_vector_codes
from kmapp.search.vector_code_packing import list_uncoded, pack_codes
from kmapp.search.vector_codes import Coder
from kmapp.search.vector_storage import EmbeddedPart, TextPart, store_vectors
from kmapp.search.word_search import find_best_by_words, load_weighted_terms
from kmapp.text.terms import extract_terms
from memory.actions import review
from memory.actions.erasure import erase_entries, preview_erasure
from memory.models import MemoryEntry, Viewer
from memory.models.entries import COLLECTION
from memory.retrieval.search import SearchRequest, build_allowed_objects
from tests import makers
from tests.memory.packed_index import pack_all

LIMIT = 4
VIEWERS = [Viewer(), Viewer(user_id="ann"), Viewer(user_id="bob", agent_id="helper")]
Status, Coding = MemoryEntry.Status, IndexedDocument.Coding


def list_packed_documents(account: Account, reader_group: str) -> set[str]:
    with acting(account):
        rows = PackedReaderGroup.objects.of(account).filter(reader_group=reader_group)
        numbers = [number for row in rows for number in unpack_numbers(bytes(row.numbers)).tolist()]
        documents = IndexedDocument.objects.of(account).filter(number__in=numbers)
        result = {str(pk) for pk in documents.values_list("document", flat=True)}
    assert len(numbers) == len(result)
    return result


def count_codes(account: Account) -> int:
    coder = Coder(np.zeros(active_model().dimensions, dtype=np.float32))
    rows = makers.rows(PackedCodes, account)
    return sum(len(bytes(row.codes)) for row in rows) // coder.type.itemsize


def get_coding(account: Account, entry: MemoryEntry) -> int:
    return makers.get(IndexedDocument, account, document=entry.pk, collection=COLLECTION).coding


def load_vector(account: Account, entry: MemoryEntry) -> QueryVector:
    row = makers.get(Vector, account, object_id=entry.pk, collection=COLLECTION)
    assert row.embedding is not None
    return QueryVector.from_floats(active_model(), [*row.embedding])


def build_within(account: Account, viewer: Viewer) -> AllowedObjects:
    return build_allowed_objects(account.pk, SearchRequest(query="tea", viewer=viewer))


def find_nearest(account: Account, meaning: QueryVector, within: AllowedObjects) -> list[str]:
    collection = Collection(account_id=account.pk, name=COLLECTION)
    with acting(account):
        return list(
            reader_group_search.find_nearest_in_reader_groups(
                collection, meaning, within=within, limit=LIMIT
            )
        )


def first_entry(account: Account, user: str) -> MemoryEntry:
    return makers.rows(MemoryEntry, account, user_id=user)[0]


@pytest.mark.parametrize("viewer", VIEWERS)
def test_results_are_those_of_a_search_without_reader_groups(
    packed: Account, viewer: Viewer
) -> None:
    collection = Collection(account_id=packed.pk, name=COLLECTION)
    within = build_within(packed, viewer)
    plain = replace(within, reader_groups=None)
    for user in ("ann", "bob", ""):
        meaning = load_vector(packed, first_entry(packed, user))
        by_codes, by_index = (find_nearest(packed, meaning, each) for each in (within, plain))
        assert by_codes[:2] == by_index[:2]
        assert len({*by_codes} & {*by_index}) >= LIMIT - 1
    with acting(packed):
        assert reader_group_search.can_use_reader_groups(collection, within)
        assert not reader_group_search.can_use_reader_groups(collection, plain)
        for query in ("What matters to all?", "Does rain matter to ann?"):
            words = load_weighted_terms(collection, extract_terms(query))
            best = find_best_by_words(collection, words, within=within, limit=LIMIT)
            assert best == find_best_by_words(collection, words, within=plain, limit=LIMIT)
            assert len(best) == LIMIT


@pytest.mark.parametrize(
    "viewer", [Viewer(agent_id="helper"), Viewer(run_id="r"), Viewer(user_id="ann", scope="shop")]
)
def test_reader_groups_of_some_viewers_are_unknown(packed: Account, viewer: Viewer) -> None:
    assert build_within(packed, viewer).reader_groups is None
    narrow = SearchRequest(query="tea", tags=("tea",), viewer=Viewer(user_id="ann"))
    assert build_allowed_objects(packed.pk, narrow).reader_groups is None


def test_memory_moves_to_its_new_reader_group(packed: Account) -> None:
    entry = first_entry(packed, "ann")
    pk = str(entry.pk)
    bob = build_within(packed, Viewer(user_id="bob"))
    meaning = load_vector(packed, entry)
    assert pk in list_packed_documents(packed, "user:ann")
    assert pk not in find_nearest(packed, meaning, bob)
    makers.update(MemoryEntry, packed, {"pk": entry.pk}, visibility="account")
    assert find_nearest(packed, meaning, bob)[0] == pk, "compared before its codes are packed"
    pack_all(packed)
    assert get_coding(packed, entry) == Coding.PACKED
    assert find_nearest(packed, meaning, bob)[0] == pk
    purge_removed(packed.pk, COLLECTION)
    assert pk not in list_packed_documents(packed, "user:ann")
    assert pk in list_packed_documents(packed, "everyone")
    assert count_codes(packed) == 36


def test_forgotten_memory_leaves_and_returns(packed: Account) -> None:
    entry = first_entry(packed, "ann")
    within, meaning = build_within(packed, Viewer(user_id="ann")), load_vector(packed, entry)
    with acting(packed):
        review.forget(makers.decision(entry))
    assert str(entry.pk) not in find_nearest(packed, meaning, within)
    purge_removed(packed.pk, COLLECTION)
    assert count_codes(packed) == 35
    with acting(packed):
        review.undo(makers.decision(makers.reload(entry)))
    assert find_nearest(packed, meaning, within)[0] == str(entry.pk)


def test_erased_person_leaves_no_reader_group(packed: Account) -> None:
    with acting(packed):
        rows = MemoryEntry.objects.of(packed).filter(user_id="ann")
        ticket = preview_erasure(packed.pk, rows, SYSTEM, person="ann").ticket
        erase_entries(packed.pk, rows, SYSTEM, ticket=ticket, person="ann")
    purge_removed(packed.pk, COLLECTION)
    names = {row.reader_group for row in makers.rows(PackedReaderGroup, packed)}
    assert names == {"user:bob", "everyone"}
    assert {row.reader_group for row in makers.rows(PackedCodes, packed)} == names


def test_new_vector_replaces_its_code(packed: Account) -> None:
    entry, other = first_entry(packed, "ann"), first_entry(packed, "bob")
    within, model = build_within(packed, Viewer(user_id="ann")), active_model()
    old, new = (load_vector(packed, each) for each in (entry, other))
    part = TextPart(object_id=entry.pk, part=0, text_sha256="x")
    with acting(packed):
        embedded = EmbeddedPart(part=part, embedding=new.as_array().tolist())
        store_vectors(packed.pk, COLLECTION, model.pk, [embedded])
    assert get_coding(packed, entry) == Coding.WAITING
    for _ in "waiting", "packed":
        assert find_nearest(packed, new, within)[0] == str(entry.pk)
        assert find_nearest(packed, old, within)[0] != str(entry.pk)
        pack_all(packed)
        purge_removed(packed.pk, COLLECTION)
    assert count_codes(packed) == 36


def test_codes_are_packed_again_without_a_centre(packed: Account) -> None:
    """A switch of the model deletes the centre."""
    with acting(packed):
        CodeCentre.objects.of(packed).delete()
    meaning = load_vector(packed, first_entry(packed, "ann"))
    within = build_within(packed, Viewer(user_id="ann"))
    before = find_nearest(packed, meaning, within)
    assert pack_codes(packed.pk, COLLECTION) == 36
    assert count_codes(packed) == 36
    assert find_nearest(packed, meaning, within) == before


def test_index_is_used_beyond_the_limits(packed: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    meaning = load_vector(packed, first_entry(packed, "ann"))
    within = build_within(packed, Viewer(user_id="ann"))
    before = find_nearest(packed, meaning, within)
    by_index = Mock(wraps=nearest_search.find_nearest)
    monkeypatch.setattr(nearest_search, "find_nearest", by_index)
    assert find_nearest(packed, meaning, within) == before
    by_index.assert_not_called()
    monkeypatch.setattr(reader_group_search, "MAX_CODES_SIZE", 100)
    assert find_nearest(packed, meaning, within) == before
    by_index.assert_called_once()


def test_task_packs_collections_where_many_wait(
    packed: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    makers.write(packed, "One more note about tea.")
    makers.settle()
    pack_recent(packed.pk, COLLECTION, at_least=1)
    assert list_uncoded(1) == [(packed.pk, COLLECTION)]
    assert pack_vector_codes() == 0, "fewer than are worth it"
    monkeypatch.setattr("kmapp.search.tasks.MIN_CODED", 1)
    assert pack_vector_codes() == 1
    assert count_codes(packed) == 37


def test_removal_by_the_former_release_leaves_nothing(packed: Account) -> None:
    """The former release neither reads nor writes reader groups."""
    ids = [row.pk for row in makers.rows(MemoryEntry, packed, user_id="ann")]
    with acting(packed), connection.cursor() as cursor:
        cursor.execute(
            "WITH removed AS (DELETE FROM search_indexeddocument WHERE document = ANY (%s)"
            " RETURNING account_id, collection, number, terms) INSERT INTO search_removeddocument"
            " (account_id, collection, number, terms) SELECT account_id, collection, number, "
            " ARRAY(SELECT jsonb_object_keys(terms)) FROM removed",
            [ids],
        )
        cursor.execute("DELETE FROM search_removeddocument")
    names = {row.reader_group for row in makers.rows(PackedReaderGroup, packed)}
    assert names == {"user:bob", "everyone"}
    assert count_codes(packed) == 24
    assert len(list_packed_documents(packed, "user:bob")) == 12


def test_collections_of_a_former_model_are_listed(
    committed: str, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_code_packing, "MIN_SAMPLE", 1)
    makers.write(acme, "Green tea.", user_id="ann")
    makers.settle()
    pack_all(acme)
    assert count_codes(acme) == 1
    assert list_uncoded(1) == []
    with connections["owner"].cursor() as cursor:
        cursor.execute("UPDATE providers_embeddingmodel SET state = 'retired'")
    assert list_uncoded(1_000) == [(acme.pk, COLLECTION)]


def test_centre_needs_many_vectors(packed: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    assert makers.get(CodeCentre, packed).size == 36
    monkeypatch.setattr(vector_code_packing, "RECOMPUTE_GROWTH", 1)
    pack_codes(packed.pk, COLLECTION)
    assert count_codes(packed) == 36, "made again"
    monkeypatch.setattr(vector_code_packing, "MIN_SAMPLE", 37)
    with acting(packed):
        CodeCentre.objects.of(packed).delete()
    assert pack_codes(packed.pk, COLLECTION) == 0
    assert makers.rows(CodeCentre, packed) == []
