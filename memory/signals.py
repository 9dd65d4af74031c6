"""Candidates for an answer, with everything fusion must know of each. Inside `acting`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Left, Right, RTrim

from kmapp.accounts.models import AccountQuerySet
from kmapp.search import queries
from kmapp.search.fusion import Candidate, Query
from kmapp.search.lookups import Ids
from kmapp.search.queries import Collection, Meaning, Within
from kmapp.text import terms
from memory.models import EntryQuerySet, MemoryEdge
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
    beside = _neighbours(account_id, [*list(by_words)[:SEEDS], *list(near)[:SEEDS]])
    shapes = _shapes(rows, {*by_words, *near, *beside})
    bm25 = by_words | queries.bm25_of(collection, words, list(shapes.keys() - by_words.keys()))
    cosines = _cosines(account_id, meaning, list(shapes))
    around = _joined(account_id, shapes.keys())
    return Signals(
        query=Query(text=text, idf_sum=words.idf_sum),
        candidates=[
            Candidate(
                id=each,
                cosine=cosines[COLLECTION].get(each),
                context=cosines[CONTEXT_COLLECTION].get(each),
                bm25=bm25.get(each, 0.0),
                neighbours=around.get(each, ()),
                run=shape.run,
                head=shape.head,
                asks=shape.asks,
            )
            for each, shape in shapes.items()
        ],
        ready=frozenset(cosines[COLLECTION]),
    )


@dataclass(frozen=True, slots=True)
class _Shape:
    run: str
    head: str
    asks: bool


def _shapes(rows: EntryQuerySet, ids: Iterable[UUID]) -> dict[UUID, _Shape]:
    """Those of the ids that may be found, with how they begin and end."""
    found = rows.filter(pk__any_of=Ids(ids)).values_list(
        "pk",
        "run_id",
        "user_id",
        KeyTextTransform("speaker", "slots"),
        Left("content", HEAD),
        Right(RTrim("content"), 1),
    )
    return {
        pk: _Shape(
            # Two users' runs may have one name.
            run=f"{user}\x1f{run}" if run else "",
            head=f"{speaker}: {head}" if speaker else head,
            asks=end in QUESTION_MARKS,
        )
        for pk, run, user, speaker, head, end in found
    }


def _cosines(
    account_id: UUID, meaning: Meaning | None, ids: Sequence[UUID]
) -> Mapping[str, Mapping[UUID, float]]:
    """How near each entry is: by its own text, and by its text read with its predecessor's."""
    if meaning is None:
        return {COLLECTION: {}, CONTEXT_COLLECTION: {}}
    return queries.cosines_of(account_id, (COLLECTION, CONTEXT_COLLECTION), meaning, ids)


def _neighbours(account_id: UUID, ids: Sequence[UUID]) -> set[UUID]:
    """What comes right before and right after these in their runs."""
    these = Ids(ids)
    edges = _next(account_id).filter(Q(src__any_of=these) | Q(dst__any_of=these))
    return {end for edge in edges.values_list("src_id", "dst_id") for end in edge}


def _joined(account_id: UUID, ids: Iterable[UUID]) -> dict[UUID, list[UUID]]:
    """Which of these stand beside which."""
    these = Ids(ids)
    edges = _next(account_id).filter(src__any_of=these, dst__any_of=these)
    joined: dict[UUID, list[UUID]] = {}
    for src, dst in edges.values_list("src_id", "dst_id"):
        joined.setdefault(src, []).append(dst)
        joined.setdefault(dst, []).append(src)
    return joined


def _next(account_id: UUID) -> AccountQuerySet[MemoryEdge]:
    return MemoryEdge.objects.of(account_id).filter(type=MemoryEdge.Type.NEXT)
