"""Embedding of chunks. Chunks without vectors are found by their words only."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.providers.models import EmbeddingModel
from kmapp.search.embed_objects import Text, embed_for_all_models, embed_objects
from kmapp.search.embedding_sources import EXAMPLE_LENGTH, register_source
from kmapp.search.passage_templates import Template, render_parts
from knowledge.chunking.index_versions import INDEX_VERSIONS, collection_name
from knowledge.models import ChunkQuerySet, KnowledgeChunk
from knowledge.retrieval.cache_version import invalidate_cache
from knowledge.retrieval.indexed_text import split_passages


def embed_chunks(
    account_id: UUID, index_version: str, ids: Sequence[UUID]
) -> dict[UUID, Exception]:
    """Embed chunks with every model in use. Return the errors by the id of the chunk."""
    embed = partial(_embed_with_model, index_version)
    failed = embed_for_all_models(account_id, [collection_name(index_version)], ids, embed)
    with acting(account_id):
        invalidate_cache(account_id)
    return failed


def _embed_with_model(
    index_version: str, model: EmbeddingModel, account_id: UUID, ids: Sequence[UUID]
) -> Mapping[UUID, Exception]:
    def load_batch(*, lock: bool) -> Iterator[Text]:
        rows = (
            KnowledgeChunk.objects.of(account_id)
            .filter(pk__in=ids)
            .select_related("document", "text_row")
            .defer("text_row__text")
        )
        template = Template(model.passage_template)
        locked = rows.select_for_update(no_key=True, of=("self",)) if lock else rows
        for chunk in locked.order_by("pk"):
            passages = split_passages(chunk, chunk.document.title)
            texts = [text for each in passages for text in render_parts(template, each)]
            for number, text in enumerate(texts):
                yield Text.of(collection_name(index_version), chunk.pk, number, text)

    return embed_objects(model, account_id, ids, read=load_batch)


def _select_chunks(index_version: str, account_id: UUID) -> ChunkQuerySet:
    return KnowledgeChunk.objects.of(account_id).of_index_version(index_version)


def _load_examples(index_version: str, account_id: UUID, number: int) -> dict[UUID, str]:
    """Return the beginnings of recent chunks as queries that should find them."""
    rows = _select_chunks(index_version, account_id).order_by("-pk")[:number]
    return {row.pk: row.text[:EXAMPLE_LENGTH] for row in rows}


for _version in INDEX_VERSIONS:
    register_source(
        collection_name(_version),
        findable=partial(_select_chunks, _version),
        examples=partial(_load_examples, _version),
    )(partial(_embed_with_model, _version))
