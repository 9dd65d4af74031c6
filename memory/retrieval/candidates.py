"""Candidates of a search with the signals for fusion. Inside `acting`."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any, TypeAlias
from uuid import UUID

from django.db import connection

from kmapp.database.ids import IdText
from kmapp.search import bm25, queries
from kmapp.search.exact_scores import load_exact_scores
from kmapp.search.fusion import TERMS, TEXT, Candidate, Query
from kmapp.search.lookups import Ids
from kmapp.search.neighbour_evidence import strength
from kmapp.search.queries import Collection, Meaning, Within, Words
from kmapp.text.terms import terms
from memory.models import MemoryEdge
from memory.models.entries import COLLECTION, CONTEXT_COLLECTION

CANDIDATES = 80  # from each list
SEEDS = 20  # from each list; their neighbours become candidates too
NEIGHBOURS = 200  # candidates that edges in both directions add
QUESTION_MARKS = frozenset("?？")
Links: TypeAlias = dict[IdText, float]
NO_LINKS: Mapping[IdText, float] = MappingProxyType({})
Type = MemoryEdge.Type
ORDER = Type.NEXT
# Types of edges whose ends are evidence for each other.
SPREADING = (Type.NEXT, Type.PART_OF, Type.RELATED_TO, Type.DERIVED_FROM, Type.MENTIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """The input of fusion, and the candidates that have a vector."""

    query: Query
    candidates: Sequence[Candidate]
    ready: AbstractSet[IdText]


def gather(
    account_id: UUID,
    text: str,
    meaning: Meaning | None,
    within: Within,
    reworded: Mapping[UUID, str] = MappingProxyType({}),
) -> Signals:
    """Find candidates by words and meaning, and measure all signals of each.

    The indexes lack the old texts of `reworded` memories, which are scored by the given words.
    """
    collection = Collection(account_id=account_id, name=COLLECTION)
    words = queries.weigh(collection, terms(text))
    by_words = queries.best_by_words(collection, words, within=within, limit=CANDIDATES)
    nearest_scores = (
        queries.nearest(collection, meaning, within=within, limit=CANDIDATES) if meaning else {}
    )
    seeds = [*islice(by_words, SEEDS), *islice(nearest_scores, SEEDS)]
    surroundings, adjacent, links = _surroundings(
        account_id, within, {*by_words, *nearest_scores}, seeds
    )
    for pk in reworded:
        surroundings.pop(str(pk), None)
    measures = load_exact_scores(
        collection,
        words,
        meaning,
        surroundings,
        context_collection=CONTEXT_COLLECTION,
        approximate=nearest_scores,
    )
    return Signals(
        query=Query(text=text, idf=words.idf),
        candidates=[
            Candidate(
                each,
                measures.cosine.get(each),
                measures.bm25.get(each, 0.0),
                measures.holds.get(each, 0),
                measures.context_collection.get(each),
                adjacent.get(each, ()),
                links.get(each, NO_LINKS),
                *itself,
            )
            for each, itself in surroundings.items()
        ]
        + [_as_it_was(pk, old_text, words) for pk, old_text in reworded.items()],
        ready=measures.cosine.keys(),
    )


def _as_it_was(pk: UUID, old_text: str, words: Words) -> Candidate:
    candidate_ids = Counter(terms(old_text))
    return Candidate(
        id=str(pk),
        cosine=None,
        bm25=bm25.score(
            words.idf, candidate_ids, candidate_ids.total(), max(words.average_length, 1.0)
        ),
        holds=sum(
            1 << bit for bit, term in enumerate(islice(words.idf, TERMS)) if term in candidate_ids
        ),
        text=old_text[:TEXT],
        asks=old_text.rstrip()[-1:] in QUESTION_MARKS,
    )


# Derived edges to similar or mentioned memories are left to recall. Here they would displace the
# neighbours in runs, and similar memories match the query anyway.
_TEXT_AT_INSTANT = (
    "account_id = %s AND type = ANY (%s) "
    "AND (origin = 'written' OR type NOT IN ('related_to', 'mentions'))"
)
# A constant, because building it takes Django longer than running it takes Postgres. Runs of two
# users may have the same name. The rows of entries are followed by those of the edges between them,
# which only the `days` column distinguishes, because a second query would take longer.
_ENTRY_FIELDS = f"""
WITH seeds (ids) AS (SELECT %s::uuid[]),
told (id, run, text, asks, importance, salience, pinned, fresh) AS MATERIALIZED (
  SELECT e.id, CASE WHEN e.run_id = '' THEN '' ELSE e.user_id || chr(31) || e.run_id END,
    concat(nullif(e.slots->>'speaker', '') || ': ', left(e.content, %s)),
    right(rtrim(e.content), 1) = ANY (%s), e.importance, e.salience, e.pinned,
    CASE WHEN e.half_life_days > 0 THEN 0.5 ^ least(100, greatest(0,
      extract(epoch FROM now() - e.observed_at)::float8 / 86400 / e.half_life_days)) ELSE 1 END
  FROM memory_memoryentry e WHERE e.account_id = %s AND e.id IN ({{within}}) AND e.id IN (
    SELECT unnest(%s::uuid[])
    UNION (SELECT src_id FROM memory_memoryedge
      WHERE {_TEXT_AT_INSTANT} AND dst_id = ANY ((SELECT ids FROM seeds)::uuid[]) LIMIT %s)
    UNION (SELECT dst_id FROM memory_memoryedge
      WHERE {_TEXT_AT_INSTANT} AND src_id = ANY ((SELECT ids FROM seeds)::uuid[]) LIMIT %s))),
known (ids) AS (SELECT array_agg(id) FROM told)
SELECT id::text, run, text, asks, importance, salience, pinned, fresh, NULL FROM told
UNION ALL
SELECT src_id::text, dst_id::text, type, NULL, weight, confidence, NULL, decay_rate,
  extract(epoch FROM now() - coalesce(last_activated_at, created_at))::float8 / 86400
FROM memory_memoryedge WHERE {_TEXT_AT_INSTANT}
  AND src_id = ANY ((SELECT ids FROM known)::uuid[])
  AND dst_id = ANY ((SELECT ids FROM known)::uuid[])
"""  # noqa: S608 - constants


def _surroundings(
    account_id: UUID, within: Within, candidate_ids: Iterable[IdText], seeds: Iterable[IdText]
) -> tuple[dict[IdText, Sequence[Any]], Mapping[IdText, list[IdText]], Mapping[IdText, Links]]:
    """Return the matches and the neighbours of the seeds with their edges.

    Returns what each tells of itself (the fields of a candidate from `run` on), what stands beside
    each in its run, and what it is linked with otherwise.
    """
    edges: list[Any] = [account_id, list(SPREADING)]
    surroundings: dict[IdText, Sequence[Any]] = {}
    adjacent, links = defaultdict[IdText, list[IdText]](list), defaultdict[IdText, Links](dict)
    with connection.cursor() as cursor:
        cursor.execute(
            _ENTRY_FIELDS.format(within=within.sql),
            [
                *(Ids(seeds).array, TEXT, list(QUESTION_MARKS), account_id),
                *within.parameters,
                *(Ids(candidate_ids).array, *edges, NEIGHBOURS, *edges, NEIGHBOURS, *edges),
            ],
        )
        for each, *itself, days in cursor.fetchall():
            if days is None:
                surroundings[each] = itself
                continue
            other, kind, *_, weight, confidence, _, decay_rate = itself
            for one, end in (each, other), (other, each):
                if kind == ORDER:
                    adjacent[one].append(end)
                else:
                    held = strength(weight, confidence, decay_rate, days)
                    links[one][end] = max(links[one].get(end, 0.0), held)
    return surroundings, adjacent, links
