"""Candidates of a search with the signals for fusion. Inside `acting`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

from django.db import connection

from kmapp.database.ids import IdText
from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.candidate_signals import MAX_FEATURE_CHARACTERS, Candidate, Query
from kmapp.search.exact_scores import load_exact_scores
from kmapp.search.id_array_lookup import IdArray
from kmapp.search.nearest_search import find_nearest
from kmapp.search.query_vector import QueryVector
from kmapp.search.word_search import find_best_by_words, load_weighted_terms
from kmapp.text.terms import extract_terms
from knowledge.retrieval.merge_adjacent import ChunkPosition

MAX_CANDIDATES = 100  # from each list
MAX_NEAREST = 2 * MAX_CANDIDATES  # vectors: a chunk has about two
MAX_SEEDS = 30  # of each list: their neighbours become candidates too


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkSignals:
    query: Query
    candidates: Sequence[Candidate]
    positions: Mapping[IdText, ChunkPosition]
    ready: frozenset[IdText]  # candidates with a vector


@dataclass(frozen=True, slots=True)
class ChunkData:
    position: ChunkPosition
    text: str  # its innermost heading or the title, and the beginning of its text


def load_signals(
    collection: Collection,
    within: AllowedObjects,
    text: str,
    meaning: QueryVector | None,
    *,
    by_document: bool,
) -> ChunkSignals:
    """Find candidates by words and by meaning, and measure all signals of each.

    With `by_document`, the best chunk of a document raises the scores of the others.
    """
    words = load_weighted_terms(collection, extract_terms(text))
    by_words = find_best_by_words(collection, words, within=within, limit=MAX_CANDIDATES)
    nearest = find_nearest(collection, meaning, within=within, limit=MAX_NEAREST) if meaning else {}
    seeds = [*islice(by_words, MAX_SEEDS), *islice(nearest, MAX_SEEDS)]
    chunks = _load_chunks(collection.account_id, within, {*by_words, *nearest}, seeds)
    measures = load_exact_scores(
        collection,
        words,
        meaning,
        chunks,
        context_collection=collection.name,
        computed_cosines=nearest,
    )
    chunk_by_position = {chunk.position: pk for pk, chunk in chunks.items()}
    candidates = [
        Candidate(
            id=pk,
            cosine=measures.cosine.get(pk),
            bm25=measures.bm25.get(pk, 0.0),
            term_mask=measures.term_mask.get(pk, 0),
            neighbours=[
                neighbour
                for step in (-1, 1)
                if (neighbour := chunk_by_position.get(chunk.position.neighbour(step)))
            ],
            run=chunk.position.document if by_document else "",
            text=chunk.text,
        )
        for pk, chunk in chunks.items()
    ]
    return ChunkSignals(
        query=Query(text=text, idf=words.idf),
        candidates=candidates,
        positions={pk: chunk.position for pk, chunk in chunks.items()},
        ready=frozenset(measures.cosine),
    )


_CHUNKS = """
SELECT c.id::text, c.document_id::text, c.chunk_index,
  left(concat_ws(': ', coalesce(c.headings[cardinality(c.headings)], d.title), c.text), %s)
FROM knowledge_knowledgechunk c
JOIN knowledge_knowledgedocument d ON d.account_id = c.account_id AND d.id = c.document_id
WHERE c.account_id = %s AND c.id IN ({within}) AND c.id IN (
  SELECT unnest(%s::uuid[])
  UNION SELECT n.id FROM knowledge_knowledgechunk s JOIN knowledge_knowledgechunk n
    ON n.account_id = s.account_id AND n.document_id = s.document_id
   AND n.index_version = s.index_version AND n.chunk_index IN (s.chunk_index - 1, s.chunk_index + 1)
  WHERE s.account_id = %s AND s.id = ANY (%s::uuid[]))
"""


def _load_chunks(
    account_id: UUID, within: AllowedObjects, chunk_ids: Iterable[IdText], seeds: Iterable[IdText]
) -> dict[IdText, ChunkData]:
    """Return the data of matches and of the neighbours of seeds."""
    params = [
        MAX_FEATURE_CHARACTERS,
        account_id,
        *within.parameters,
        IdArray(chunk_ids).array,
        account_id,
        IdArray(seeds).array,
    ]
    with connection.cursor() as cursor:
        cursor.execute(_CHUNKS.format(within=within.sql), params)
        return {
            pk: ChunkData(ChunkPosition(document, number), text)
            for pk, document, number, text in cursor.fetchall()
        }
