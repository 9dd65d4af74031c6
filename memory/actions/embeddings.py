"""Embedding of memories by workers, and rebuilding of their indexes."""

from collections.abc import Iterator, Sequence
from uuid import UUID

from django.db.models import Value
from django.db.models.functions import Coalesce, Left, NullIf

from kmapp.accounts.acting import acting
from kmapp.database.ids import uuid7
from kmapp.providers.models import EmbeddingModel
from kmapp.search.actions import index_terms
from kmapp.search.embed_jobs import Text, embed_for_all_models, embed_objects
from kmapp.search.models import TermPosting
from kmapp.search.passages import Template, in_context, renderings
from kmapp.search.registry import embeds
from memory.actions.enqueue import enqueue_embeddings, enqueue_triage
from memory.models import EntryQuerySet, MemoryEntry
from memory.models.entries import COLD, COLLECTION, CONTEXT_COLLECTION
from memory.retrieval.indexed_text import passage_of, words_of
from memory.retrieval.run_order import neighbours

EXAMPLE_LENGTH = 80  # characters
BLOCK = 500  # memories per transaction of a rebuild


def embed_entries(account_id: UUID, ids: Sequence[UUID]) -> dict[UUID, Exception]:
    """Embed entries for every model in use. Return the error of each entry that failed."""
    collections = (COLLECTION, CONTEXT_COLLECTION)
    return embed_for_all_models(account_id, collections, ids, embed_for_model)


def _findable(account_id: UUID) -> EntryQuerySet:
    return MemoryEntry.objects.of(account_id).current()


def _examples(account_id: UUID, number: int) -> dict[UUID, str]:
    """Return recent memories with their title or beginning, as queries that should find them."""
    rows = _findable(account_id).order_by("-created_at", "-pk")
    begins = Coalesce(NullIf("title", Value("")), Left("content", EXAMPLE_LENGTH))
    return dict(rows.values_list("pk", begins)[:number])


@embeds(COLLECTION, CONTEXT_COLLECTION, findable=_findable, examples=_examples)
def embed_for_model(
    model: EmbeddingModel, account_id: UUID, ids: Sequence[UUID]
) -> dict[UUID, Exception]:
    """Embed entries for one model: their text, and their text after that of their predecessor."""

    def read(*, hold: bool) -> Iterator[Text]:
        rows = MemoryEntry.objects.of(account_id)
        return _texts(model, account_id, rows.select_for_update(no_key=True) if hold else rows, ids)

    return embed_objects(model, account_id, ids, read=read, context_collection=CONTEXT_COLLECTION)


def _texts(
    model: EmbeddingModel, account_id: UUID, rows: EntryQuerySet, ids: Sequence[UUID]
) -> Iterator[Text]:
    """Yield all texts of these entries that a model embeds."""
    template = Template(model.passage_template)
    entries = list(rows.filter(pk__in=ids).exclude(tier__in=COLD).order_by("pk"))
    # Read after the entries are locked: a predecessor may have been erased meanwhile.
    previous_texts = {row.pk: row.before for row in neighbours(account_id, ids)}
    for entry in entries:
        passage = passage_of(entry)
        for number, text in enumerate(renderings(template, passage)):
            yield Text.of(COLLECTION, entry.pk, number, text)
        if before := previous_texts.get(entry.pk):
            text = in_context(template, passage, before)
            yield Text.of(CONTEXT_COLLECTION, entry.pk, 0, text)


def rebuild_indexes(account_id: UUID) -> Iterator[int]:
    """Index all memories of an account again, and yield the size of each block.

    Search works meanwhile. Equal texts keep their vectors.
    """
    after, job = UUID(int=0), uuid7()
    while True:
        with acting(account_id):
            rows = MemoryEntry.objects.of(account_id).filter(pk__gt=after).order_by("pk")
            block = list(rows[:BLOCK])
            if not block:
                return
            # By document, although it has no index, to also remove words of older tokenizers.
            TermPosting.objects.of(account_id).filter(
                collection=COLLECTION, document__in=[entry.pk for entry in block]
            ).delete()
            index_terms(account_id, COLLECTION, {entry.pk: words_of(entry) for entry in block})
            enqueue_embeddings(account_id, block, job)
            waiting = [entry.pk for entry in block if entry.status == MemoryEntry.Status.PROPOSED]
            enqueue_triage(account_id, waiting, job)
        after = block[-1].pk
        yield len(block)
