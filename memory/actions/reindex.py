"""Rebuilding of the search indexes of an account's memories."""

from collections.abc import Iterator
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.database.ids import uuid7
from kmapp.search.word_index import index_documents
from memory.actions.follow_up_jobs import TRIAGE, enqueue_embeddings, enqueue_entries
from memory.models import MemoryEntry
from memory.models.entries import COLLECTION
from memory.retrieval.indexed_text import build_indexed_text

BLOCK = 500  # memories per transaction


def rebuild_indexes(account_id: UUID) -> Iterator[int]:
    """Index all memories of an account again, and yield the size of each block.

    A memory is found by its words meanwhile, and by meaning once workers have embedded it again.
    """
    after, job = UUID(int=0), uuid7()
    while True:
        with acting(account_id):
            rows = MemoryEntry.objects.of(account_id).filter(pk__gt=after).order_by("pk")
            block = list(rows.select_for_update(no_key=True)[:BLOCK])
            if not block:
                return
            index_documents(
                account_id, COLLECTION, {entry.pk: build_indexed_text(entry) for entry in block}
            )
            enqueue_embeddings(account_id, block, job)
            waiting = [entry.pk for entry in block if entry.status == MemoryEntry.Status.PROPOSED]
            enqueue_entries(account_id, TRIAGE, waiting, job)
        after = block[-1].pk
        yield len(block)
