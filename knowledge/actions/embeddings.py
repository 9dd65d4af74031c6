"""Embedding of chunks. Chunks without vectors are found by their words only."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.providers.models import EmbeddingModel
from kmapp.search.embed_jobs import Text, embed_for_all_models, embed_objects
from kmapp.search.passages import Template, renderings
from kmapp.search.registry import embeds
from knowledge.chunking.index_versions import INDEX_VERSIONS, collection_of
from knowledge.models import ChunkQuerySet, KnowledgeChunk
from knowledge.retrieval.cache_version import invalidate_cache
from knowledge.retrieval.indexed_text import passages_of

EXAMPLE_LENGTH = 80  # characters


def embed_chunks(
    account_id: UUID, index_version: str, ids: Sequence[UUID]
) -> dict[UUID, Exception]:
    """Embed chunks with every model in use. Return the errors by the id of the chunk."""
    embed = partial(_embed, index_version)
    failed = embed_for_all_models(account_id, [collection_of(index_version)], ids, embed)
    with acting(account_id):
        invalidate_cache(account_id)
    return failed


def _embed(
    index_version: str, model: EmbeddingModel, account_id: UUID, ids: Sequence[UUID]
) -> Mapping[UUID, Exception]:
    def read(*, hold: bool) -> Iterator[Text]:
        rows = (
            KnowledgeChunk.objects.of(account_id)
            .filter(pk__in=ids)
            .select_related("document", "text_row")
            .defer("text_row__text")
        )
        template = Template(model.passage_template)
        locked = rows.select_for_update(no_key=True, of=("self",)) if hold else rows
        for chunk in locked.order_by("pk"):
            passages = passages_of(chunk, chunk.document.title)
            texts = [text for each in passages for text in renderings(template, each)]
            for number, text in enumerate(texts):
                yield Text.of(collection_of(index_version), chunk.pk, number, text)

    return embed_objects(model, account_id, ids, read=read)


def _chunks(index_version: str, account_id: UUID) -> ChunkQuerySet:
    return KnowledgeChunk.objects.of(account_id).of_index_version(index_version)


def _examples(index_version: str, account_id: UUID, number: int) -> dict[UUID, str]:
    """Return the beginnings of recent chunks as queries that should find them."""
    rows = _chunks(index_version, account_id).order_by("-pk")[:number]
    return {row.pk: row.text[:EXAMPLE_LENGTH] for row in rows}


for _version in INDEX_VERSIONS:
    embeds(
        collection_of(_version),
        findable=partial(_chunks, _version),
        examples=partial(_examples, _version),
    )(partial(_embed, _version))
