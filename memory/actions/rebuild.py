"""Making what is derived from memories anew: their words at once, vectors and order by workers."""

from collections.abc import Iterator
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.database.ids import uuid7
from kmapp.search.actions import index_terms
from kmapp.search.models import TermPosting
from memory.actions.enqueue import enqueue_embeddings, enqueue_triage
from memory.models import MemoryEntry
from memory.models.entries import COLLECTION
from memory.retrieval.indexed_text import words_of

BLOCK = 500  # memories a transaction


def rebuild_indexes(account_id: UUID) -> Iterator[int]:
    """Index all memories of an account again, in blocks; yields how many each block had.

    Until its turn comes, a memory is found as before. Equal texts keep their vectors.
    """
    after, job = UUID(int=0), uuid7()
    while True:
        with acting(account_id):
            rows = MemoryEntry.objects.of(account_id).filter(pk__gt=after).order_by("pk")
            block = list(rows[:BLOCK])
            if not block:
                return
            # By document, which no index has: words that nobody cuts like that any more go too.
            TermPosting.objects.of(account_id).filter(
                collection=COLLECTION, document__in=[entry.pk for entry in block]
            ).delete()
            index_terms(account_id, COLLECTION, {entry.pk: words_of(entry) for entry in block})
            enqueue_embeddings(account_id, block, job)
            waiting = [entry.pk for entry in block if entry.status == MemoryEntry.Status.PROPOSED]
            enqueue_triage(account_id, waiting, job)
        after = block[-1].pk
        yield len(block)
