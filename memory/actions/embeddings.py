"""Giving memories their vectors. Nobody waits: a memory is found by its words meanwhile."""

from collections.abc import Iterator, Sequence
from uuid import UUID

from django.db.models import Value
from django.db.models.functions import Coalesce, Left, NullIf

from kmapp.accounts.acting import acting
from kmapp.providers.models import EmbeddingModel
from kmapp.search.actions import withdraw_vectors
from kmapp.search.embed_jobs import Text, embed_objects
from kmapp.search.passages import Template, in_context, renderings
from kmapp.search.registry import embeds
from memory.models import EntryQuerySet, MemoryEntry
from memory.models.entries import COLD, COLLECTION, CONTEXT_COLLECTION
from memory.retrieval.indexed_text import passage_of
from memory.retrieval.run_order import neighbours

EXAMPLE_LENGTH = 80  # characters


def embed_entries(account_id: UUID, ids: Sequence[UUID]) -> dict[UUID, Exception]:
    """Embed entries for every model in use. Returns those whose texts got no vector, and why."""
    failed: dict[UUID, Exception] = {}
    for model in EmbeddingModel.objects.order_by("pk"):
        if model.state == EmbeddingModel.State.RETIRED:
            # Should it be used again, it shall not answer for texts that have changed since.
            with acting(account_id):
                withdraw_vectors(account_id, model.pk, (COLLECTION, CONTEXT_COLLECTION), ids)
        else:
            failed |= embed_for_model(model, account_id, ids)
    return failed


def _findable(account_id: UUID) -> EntryQuerySet:
    return MemoryEntry.objects.of(account_id).current()


def _examples(account_id: UUID, number: int) -> dict[UUID, str]:
    """Recent memories, each by its title or how it begins: a question that should find it."""
    rows = _findable(account_id).order_by("-created_at", "-pk")
    begins = Coalesce(NullIf("title", Value("")), Left("content", EXAMPLE_LENGTH))
    return dict(rows.values_list("pk", begins)[:number])


@embeds(COLLECTION, CONTEXT_COLLECTION, findable=_findable, examples=_examples)
def embed_for_model(
    model: EmbeddingModel, account_id: UUID, ids: Sequence[UUID]
) -> dict[UUID, Exception]:
    """Embed entries for one model: what they say, and what they say after their predecessor."""

    def read(*, hold: bool) -> Iterator[Text]:
        rows = MemoryEntry.objects.of(account_id)
        return _texts(model, account_id, rows.select_for_update(no_key=True) if hold else rows, ids)

    return embed_objects(model, account_id, ids, read=read, context_collection=CONTEXT_COLLECTION)


def _texts(
    model: EmbeddingModel, account_id: UUID, rows: EntryQuerySet, ids: Sequence[UUID]
) -> Iterator[Text]:
    """Every text that a model is given for these entries."""
    template = Template(model.passage_template)
    entries = list(rows.filter(pk__in=ids).exclude(tier__in=COLD).order_by("pk"))
    # Asked once they are held, where they are: what came before may have been erased meanwhile.
    previous_texts = {row.pk: row.before for row in neighbours(account_id, ids)}
    for entry in entries:
        passage = passage_of(entry)
        for number, text in enumerate(renderings(template, passage)):
            yield Text.of(COLLECTION, entry.pk, number, text)
        if before := previous_texts.get(entry.pk):
            text = in_context(template, passage, before)
            yield Text.of(CONTEXT_COLLECTION, entry.pk, 0, text)
