"""Candidates for an answer, with everything fusion must know of each. Inside `acting`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

from django.db import connection

from kmapp.search import queries
from kmapp.search.fusion import Candidate, Query
from kmapp.search.lookups import Ids
from kmapp.search.queries import Collection, Meaning, Within
from kmapp.text import terms
from memory.models import EntryQuerySet
from memory.models.entries import COLLECTION, CONTEXT_COLLECTION

CANDIDATES = 100  # from each list
SEEDS = 30  # of each list, whose neighbours become candidates too
HEAD = 64  # characters by which an entry's opening is told
QUESTION_MARKS = frozenset("?？")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """What fusion is given, and which candidates have a vector."""

    query: Query
    candidates: Sequence[Candidate]
    ready: frozenset[UUID]


def gather(account_id: UUID, text: str, meaning: Meaning | None, rows: EntryQuerySet) -> Signals:
    """Find candidates among `rows` by words and meaning, and measure all signals of each."""
    collection = Collection(account_id=account_id, name=COLLECTION)
    words = queries.weigh(collection, terms(text))
    within = Within.of(rows)
    by_words = queries.best_by_words(collection, words, within=within, limit=CANDIDATES)
    near = queries.nearest(collection, meaning, within=within, limit=CANDIDATES) if meaning else {}
    seeds = [*islice(by_words, SEEDS), *islice(near, SEEDS)]
    shapes = _shapes(account_id, within, {*by_words, *near}, seeds)
    measures = queries.measured(collection, words, meaning, shapes, beside=CONTEXT_COLLECTION)
    return Signals(
        query=Query(text=text, idf_sum=words.idf_sum),
        candidates=[
            Candidate(
                id=each,
                cosine=measures.cosine.get(each),
                context=measures.beside.get(each),
                bm25=measures.bm25.get(each, 0.0),
                neighbours=shape.beside,
                run=shape.run,
                head=shape.head,
                asks=shape.asks,
            )
            for each, shape in shapes.items()
        ],
        ready=frozenset(measures.cosine),
    )


@dataclass(frozen=True, slots=True)
class _Shape:
    run: str
    head: str
    asks: bool
    beside: Sequence[UUID]


# Spelled out: the statement is always the same, and writing it anew each time takes Django longer
# than Postgres takes to answer it.
_SHAPES = """
SELECT e.id, e.run_id, e.user_id, e.slots->>'speaker', left(e.content, %s),
  right(rtrim(e.content), 1), ARRAY(
    SELECT n.dst_id FROM memory_memoryedge n
    WHERE n.account_id = e.account_id AND n.type = 'next' AND n.src_id = e.id
    UNION ALL SELECT n.src_id FROM memory_memoryedge n
    WHERE n.account_id = e.account_id AND n.type = 'next' AND n.dst_id = e.id)
FROM memory_memoryentry e WHERE e.account_id = %s AND e.id IN ({within}) AND e.id IN (
  SELECT unnest(%s::uuid[])
  UNION SELECT src_id FROM memory_memoryedge
  WHERE account_id = %s AND type = 'next' AND dst_id = ANY (%s::uuid[])
  UNION SELECT dst_id FROM memory_memoryedge
  WHERE account_id = %s AND type = 'next' AND src_id = ANY (%s::uuid[]))
"""


def _shapes(
    account_id: UUID, within: Within, found: Iterable[UUID], seeds: Iterable[UUID]
) -> dict[UUID, _Shape]:
    """The surroundings of what was found, and of what stands beside the seeds in their runs."""
    these, around = Ids(found).array, Ids(seeds).array
    with connection.cursor() as cursor:
        cursor.execute(
            _SHAPES.format(within=within.sql),
            [
                *(HEAD, account_id, *within.parameters),
                *(these, account_id, around, account_id, around),
            ],
        )
        rows = cursor.fetchall()
    return {
        pk: _Shape(
            # Two users' runs may have one name.
            run=f"{user}\x1f{run}" if run else "",
            head=f"{speaker}: {head}" if speaker else head,
            asks=end in QUESTION_MARKS,
            beside=beside,
        )
        for pk, run, user, speaker, head, end, beside in rows
    }
