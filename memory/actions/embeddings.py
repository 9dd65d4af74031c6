"""Embedding of memories by workers."""

from collections.abc import Iterator, Sequence
from functools import partial
from uuid import UUID

from kmapp.database.ids import uuid7
from kmapp.providers.active_models import models_in_use
from kmapp.providers.models import EmbeddingModel
from kmapp.search.embed_objects import Text, embed_for_all_models, embed_objects
from kmapp.search.embedding_sources import load_examples, register_source
from kmapp.search.models import Vector
from kmapp.search.passage_templates import Template, render_parts, render_with_predecessor
from kmapp.search.vector_storage import await_vectors
from memory.actions.follow_up_jobs import EMBED_CONTEXT, enqueue_entries
from memory.models import EntryQuerySet, MemoryEntry
from memory.models.entries import COLD, COLLECTION, CONTEXT_COLLECTION
from memory.retrieval.indexed_text import build_passage
from memory.retrieval.run_neighbours import load_neighbours


def embed_entries(account_id: UUID, ids: Sequence[UUID]) -> dict[UUID, Exception]:
    """Embed the texts of entries for every model in use. Return the error of each failed entry."""
    collections = (COLLECTION, CONTEXT_COLLECTION)
    return embed_for_all_models(account_id, collections, ids, _embed_texts)


def embed_contexts(account_id: UUID, ids: Sequence[UUID]) -> dict[UUID, Exception]:
    """Embed entries with the text of their predecessor before their own; see `embed_entries`."""
    return embed_for_all_models(account_id, (CONTEXT_COLLECTION,), ids, _embed_contexts)


def _findable(account_id: UUID) -> EntryQuerySet:
    return MemoryEntry.objects.of(account_id).current()


def _examples(account_id: UUID, number: int) -> dict[UUID, str]:
    return load_examples(_findable(account_id), number, title="title", text="content")


@register_source(COLLECTION, CONTEXT_COLLECTION, findable=_findable, examples=_examples)
def embed_for_model(
    model: EmbeddingModel, account_id: UUID, ids: Sequence[UUID]
) -> dict[UUID, Exception]:
    """Embed entries for one model: their text alone, and with that of their predecessor."""
    return _embed_texts(model, account_id, ids) | _embed_contexts(model, account_id, ids)


def _embed_texts(
    model: EmbeddingModel, account_id: UUID, ids: Sequence[UUID]
) -> dict[UUID, Exception]:
    template = Template(model.passage_template)

    def read(*, lock: bool) -> Iterator[Text]:
        for entry in _list_embedded(account_id, ids, lock=lock):
            for number, text in enumerate(render_parts(template, build_passage(entry))):
                yield Text.of(COLLECTION, entry.pk, number, text)

    return embed_objects(model, account_id, ids, read=read)


def _embed_contexts(
    model: EmbeddingModel, account_id: UUID, ids: Sequence[UUID]
) -> dict[UUID, Exception]:
    read = partial(_context_texts, model, account_id, ids)
    return embed_objects(model, account_id, ids, read=read, context_collection=CONTEXT_COLLECTION)


def _list_embedded(account_id: UUID, ids: Sequence[UUID], *, lock: bool) -> list[MemoryEntry]:
    rows = MemoryEntry.objects.of(account_id).filter(pk__in=ids).exclude(tier__in=COLD)
    return list((rows.select_for_update(no_key=True) if lock else rows).order_by("pk"))


def _context_texts(
    model: EmbeddingModel, account_id: UUID, ids: Sequence[UUID], *, lock: bool
) -> Iterator[Text]:
    template = Template(model.passage_template)
    entries = _list_embedded(account_id, ids, lock=lock)
    # Read after the entries are locked: a predecessor may have been erased meanwhile.
    previous_texts = {row.pk: row.before for row in load_neighbours(account_id, ids)}
    for entry in entries:
        if before := previous_texts.get(entry.pk):
            text = render_with_predecessor(template, build_passage(entry), before)
            yield Text.of(CONTEXT_COLLECTION, entry.pk, 0, text)


def enqueue_contexts(account_id: UUID, ids: Sequence[UUID]) -> None:
    """Enqueue the embedding of entries whose text with that of their predecessor has changed.

    They are embedded after all texts that are pending now, which makes new memories findable by
    meaning sooner: with its predecessor, a text takes twice as long. Inside `acting`.
    """
    pending: set[UUID] = set()
    for model in models_in_use():
        texts = list(_context_texts(model, account_id, ids, lock=True))
        vectors = Vector.objects.of(account_id).filter(
            collection=CONTEXT_COLLECTION, model=model, object_id__in=ids
        )
        current = dict(
            vectors.exclude(state=Vector.State.FAILED).values_list("object_id", "text_sha256")
        )
        texts_by_id = {each.part.object_id: each for each in texts}
        if former := current.keys() - texts_by_id.keys():
            vectors.filter(object_id__in=former).delete()
        changed = [
            each.part
            for pk, each in texts_by_id.items()
            if current.get(pk) != each.part.text_sha256
        ]
        await_vectors(account_id, CONTEXT_COLLECTION, model.pk, changed)
        pending |= {part.object_id for part in changed}
    enqueue_entries(account_id, EMBED_CONTEXT, sorted(pending), uuid7())
