"""Vector codes find the nearest vectors, and a document leaves the array of its former group."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.search.models import IndexedDocument, PackedReaderGroup
from kmapp.search.posting_packing import purge_removed
from kmapp.search.vector_codes import Coder, unpack_codes
from memory.actions import review
from memory.benchmarks.synthetic_entries import Cloud
from memory.models.entries import COLLECTION
from tests import makers
from tests.race import run_on_own_connection, wait_until_blocked


def test_codes_choose_the_nearest_vectors() -> None:
    cloud = Cloud(384, np.random.default_rng(4))
    vectors, asked = cloud.draw(6_000), cloud.draw(20)
    coder = Coder(vectors.mean(axis=0, dtype=np.float32))
    codes = unpack_codes(coder.encode(range(len(vectors)), vectors), 384)
    shares = []
    for query in asked:
        nearest = set(np.argsort(-(vectors @ query))[:80].tolist())
        shares.append(len(nearest & set(coder.find_nearest([codes], query, 320))) / 80)
    assert np.mean(shares) > 0.95


def test_forgetting_waits_for_a_process_that_packs(committed: str, acme: Account) -> None:
    """Otherwise the document would keep a number in the array of its former group."""
    [entry] = makers.write(acme, "Green tea.", user_id="ann")

    def forget() -> None:
        with acting(acme):
            review.forget(makers.decision(entry))

    with ThreadPoolExecutor(1) as pool:
        with acting(acme):
            IndexedDocument.objects.of(acme).update(number=0)
            later = pool.submit(run_on_own_connection, forget)
            wait_until_blocked(later)
            assert not later.done()
        later.result(20)
    row = makers.get(IndexedDocument, acme, document=entry.pk, collection=COLLECTION)
    assert (row.number, row.reader_group) == (None, "nobody")
    purge_removed(acme.pk, COLLECTION)
    assert makers.rows(PackedReaderGroup, acme) == []
