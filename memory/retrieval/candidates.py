"""Candidates of a search with the signals for fusion. Inside `acting`."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any, TypeAlias
from uuid import UUID

from kmapp.database.ids import IdText
from kmapp.database.raw_sql import fetch_all, fetch_prepared
from kmapp.search import bm25, reader_group_search
from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.candidate_signals import MAX_FEATURE_CHARACTERS, Candidate, Query
from kmapp.search.exact_scores import load_exact_scores
from kmapp.search.id_array_lookup import IdArray
from kmapp.search.neighbour_evidence import compute_edge_strength
from kmapp.search.query_vector import QueryVector
from kmapp.search.word_search import WeightedTerms, find_best_by_words, load_weighted_terms
from kmapp.text.terms import extract_terms
from memory.models import MemoryEdge
from memory.models.entries import COLLECTION, CONTEXT_COLLECTION, MIN_HALF_LIFE_DAYS

MAX_PER_LIST = 80  # from each list
SEEDS_PER_LIST = 20  # from each list; their neighbours become candidates too
MAX_NEIGHBOURS = 200  # candidates that edges in both directions add
QUESTION_MARKS = frozenset("?？")
Links: TypeAlias = dict[IdText, float]
NO_LINKS: Mapping[IdText, float] = MappingProxyType({})
EdgeType = MemoryEdge.Type
# Types of edges whose ends are evidence for each other.
EVIDENCE_TYPES = (
    EdgeType.NEXT,
    EdgeType.PART_OF,
    EdgeType.RELATED_TO,
    EdgeType.DERIVED_FROM,
    EdgeType.MENTIONS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateSet:
    """The input of fusion, and the candidates that have a vector."""

    query: Query
    candidates: Sequence[Candidate]
    ready: AbstractSet[IdText]


def collect_candidates(
    account_id: UUID,
    text: str,
    meaning: QueryVector | None,
    within: AllowedObjects,
    old_texts: Mapping[UUID, str] = MappingProxyType({}),
) -> CandidateSet:
    """Find candidates by words and meaning, and measure all signals of each.

    No index contains the texts in `old_texts`, so these memories are scored by their words only.
    """
    collection = Collection(account_id=account_id, name=COLLECTION)
    words = load_weighted_terms(collection, extract_terms(text))
    word_scores = find_best_by_words(collection, words, within=within, limit=MAX_PER_LIST)
    cosines = (
        reader_group_search.find_nearest_in_reader_groups(
            collection, meaning, within=within, limit=MAX_PER_LIST
        )
        if meaning
        else {}
    )
    seeds = [*islice(word_scores, SEEDS_PER_LIST), *islice(cosines, SEEDS_PER_LIST)]
    surroundings, adjacent, links = _load_surroundings(
        account_id, within, {*word_scores, *cosines}, seeds
    )
    for pk in old_texts:
        surroundings.pop(str(pk), None)
    scores = load_exact_scores(
        collection,
        words,
        meaning,
        surroundings,
        context_collection=CONTEXT_COLLECTION,
        computed_cosines=cosines,
    )
    return CandidateSet(
        query=Query(text=text, idf=words.idf),
        candidates=[
            Candidate(
                each,
                scores.cosine.get(each),
                scores.bm25.get(each, 0.0),
                scores.term_mask.get(each, 0),
                scores.context_collection.get(each),
                adjacent.get(each, ()),
                links.get(each, NO_LINKS),
                *fields,
            )
            for each, fields in surroundings.items()
        ]
        + [_build_past_candidate(pk, old_text, words) for pk, old_text in old_texts.items()],
        ready=scores.cosine.keys(),
    )


def _build_past_candidate(pk: UUID, old_text: str, words: WeightedTerms) -> Candidate:
    term_counts = Counter(extract_terms(old_text))
    return Candidate(
        id=str(pk),
        cosine=None,
        bm25=bm25.score(
            words.idf, term_counts, term_counts.total(), max(words.average_length, 1.0)
        ),
        term_mask=bm25.build_term_mask(words.idf, term_counts),
        text=old_text[:MAX_FEATURE_CHARACTERS],
        is_question=old_text.rstrip()[-1:] in QUESTION_MARKS,
    )


# Only recall uses derived edges to similar or mentioned memories. Here they would displace the
# neighbours in runs, and similar memories match the query anyway.
_EDGE_CONDITION_SQL = (
    "account_id = %s AND type = ANY (%s::text[]) "
    "AND (origin = 'written' OR type NOT IN ('related_to', 'mentions'))"
)
# Raw SQL, because Django would take longer to build this query than PostgreSQL to run it. It
# returns entries and then the edges between them, which have a value in the last column (days),
# because a second query would take longer. Run names include the user: two users may use the same
# name. For the subqueries of each key, see `kmapp.database.psycopg_cursors`; they also let the
# edges of the best seeds come first. The constraint one_edge_per_type sorts the outgoing edges of a
# seed, so that the same ones are always within the limit. No index sorts incoming edges: a topic
# may have very many.
_SURROUNDINGS_SQL = f"""
WITH seeds (id) AS (SELECT unnest(%s::uuid[])),
candidates (id) AS (
  SELECT unnest(%s::uuid[])
  UNION (SELECT n.id FROM seeds s CROSS JOIN LATERAL (
    SELECT src_id AS id FROM memory_memoryedge
     WHERE {_EDGE_CONDITION_SQL} AND dst_id = s.id OFFSET 0) n LIMIT %s)
  UNION (SELECT n.id FROM seeds s CROSS JOIN LATERAL (
    SELECT dst_id AS id FROM memory_memoryedge
     WHERE {_EDGE_CONDITION_SQL} AND src_id = s.id ORDER BY dst_id OFFSET 0) n LIMIT %s)),
fields (id, run, text, asks, importance, salience, pinned, fresh) AS MATERIALIZED (
  SELECT e.id, CASE WHEN e.run_id = '' THEN '' ELSE e.user_id || chr(31) || e.run_id END,
    concat(nullif(e.slots->>'speaker', '') || ': ', left(e.content, %s::int)),
    right(rtrim(e.content), 1) = ANY (%s::text[]), e.importance, e.salience, e.pinned,
    CASE WHEN e.half_life_days > 0 THEN 0.5 ^ least(100, greatest(0,
      extract(epoch FROM now() - e.observed_at)::float8 / 86400
      / greatest({MIN_HALF_LIFE_DAYS}, e.half_life_days))) ELSE 1 END
  FROM candidates c CROSS JOIN LATERAL (
    SELECT * FROM memory_memoryentry WHERE id = c.id OFFSET 0) e
  WHERE e.account_id = %s AND {{allowed}}),
entry_ids (ids) AS (SELECT array_agg(id) FROM fields)
SELECT id::text, run, text, asks, importance, salience, pinned, fresh, NULL FROM fields
UNION ALL
SELECT n.src_id::text, n.dst_id::text, n.type, NULL, n.weight, n.confidence, NULL, n.decay_rate,
  extract(epoch FROM now() - coalesce(n.last_activated_at, n.created_at))::float8 / 86400
FROM fields f CROSS JOIN LATERAL (
  SELECT * FROM memory_memoryedge WHERE {_EDGE_CONDITION_SQL} AND src_id = f.id OFFSET 0) n
WHERE n.dst_id = ANY ((SELECT ids FROM entry_ids)::uuid[])
"""  # noqa: S608 - constants


def _load_surroundings(
    account_id: UUID,
    within: AllowedObjects,
    candidate_ids: Iterable[IdText],
    seeds: Iterable[IdText],
) -> tuple[dict[IdText, Sequence[Any]], Mapping[IdText, list[IdText]], Mapping[IdText, Links]]:
    """Return the matches and the neighbours of the seeds with their edges.

    The first mapping has the fields of each candidate from `run` on, the second its neighbours in
    the run, and the third its other edges with their strength.
    """
    edges: tuple[Any, ...] = (account_id, list(EVIDENCE_TYPES))
    parameters: list[Any] = [
        *(IdArray(dict.fromkeys(seeds)).array, IdArray(candidate_ids).array),
        *(*edges, MAX_NEIGHBOURS, *edges, MAX_NEIGHBOURS),
        *(MAX_FEATURE_CHARACTERS, list(QUESTION_MARKS), account_id, *within.parameters, *edges),
    ]
    surroundings: dict[IdText, Sequence[Any]] = {}
    adjacent, links = defaultdict[IdText, list[IdText]](list), defaultdict[IdText, Links](dict)
    statement = _SURROUNDINGS_SQL.format(allowed=within.build_condition_of_row("e"))
    # Filters of other viewers list memories, and each has a text of its own.
    if within.reader_groups is None:
        rows = fetch_all(statement, parameters)
    else:
        rows = fetch_prepared(statement, parameters)
    for each, *fields, days in rows:
        if days is None:
            surroundings[each] = fields
            continue
        other, edge_type, *_, weight, confidence, _, decay_rate = fields
        for start, end in (each, other), (other, each):
            if edge_type == EdgeType.NEXT:
                adjacent[start].append(end)
            else:
                strength = compute_edge_strength(weight, confidence, decay_rate, days)
                links[start][end] = max(links[start].get(end, 0.0), strength)
    return surroundings, adjacent, links
