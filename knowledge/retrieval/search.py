"""Search of knowledge: snippets with citations, best first, and decisions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from django.db.models import Min, Q

from kmapp.accounts.acting import acting
from kmapp.database.ids import IdText
from kmapp.providers.active import active_model
from kmapp.providers.rerank import configured
from kmapp.search.fusion import fuse
from kmapp.search.lookups import Ids
from kmapp.search.models import Vector
from kmapp.search.queries import Collection, Meaning, Within, restrict_to_ids
from kmapp.search.query_vector import meaning_of, scale_of
from kmapp.search.reranking import FAILED, candidate_limit, reranked
from kmapp.search.variants import DEFAULT, Variant
from knowledge.chunking.index_versions import collection_of
from knowledge.models import KnowledgeChunk, KnowledgeSource
from knowledge.retrieval.cache_version import stamp_of
from knowledge.retrieval.candidates import CandidateRequest, gather
from knowledge.retrieval.citations import slices
from knowledge.retrieval.indexed_text import path_of
from knowledge.retrieval.merge_adjacent import Run, merged

ALONE = frozenset({"run"})  # a chunk by itself would count twice as the best of its run


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What is asked, of which sources, and for how much. An empty filter filters nothing."""

    query: str
    limit: int = 10
    sources: tuple[str, ...] = ()  # ids or names
    kinds: tuple[str, ...] = ()
    trust: tuple[str, ...] = ()
    mime: tuple[str, ...] = ()
    scope: str | None = None
    version: str = ""  # the revision that a document came with
    min_score: float = 0.0
    merge: bool = True
    variant: Variant = DEFAULT


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A run of neighbouring chunks of one document; its score is that of its best chunk."""

    chunks: Sequence[KnowledgeChunk]
    text: str
    score: float
    parts: Mapping[str, float]
    ready: bool  # False: found by its words alone
    state: str = "READY"  # of its vectors, the worst of them; NONE: there are none


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    snippets: Sequence[Snippet]
    decisions: Sequence[Mapping[str, Any]] = field(default_factory=list)


def search(account_id: UUID, request: Search) -> SearchResult:
    """Find passages by words and by meaning. Opens `acting` itself, and asks the model outside."""
    decisions: list[Mapping[str, Any]] = []
    key = _key(account_id, request)
    runs = _remembered(key)
    if runs is None:
        meaning = meaning_of(account_id, request.query, decisions)
        runs = _best(account_id, request, meaning, decisions)
        whole = meaning and FAILED not in {each["code"] for each in decisions}
        if whole and key:  # what lacks a model's word is worth no memory
            cache.set(key, [run.packed() for run in runs], timeout=settings.KNOWLEDGE_CACHE_SECONDS)
    else:
        decisions.append({"code": "km_cache_hit", "message": "The result was cached."})
    with acting(account_id):
        snippets = _with_states(account_id, request, _snippets(account_id, runs))
    return SearchResult(snippets=snippets, decisions=decisions)


def answers(account_id: UUID, request: Search, meaning: Meaning | None) -> list[Snippet]:
    """Run the search without cache and reranker, given the query's vector."""
    with acting(account_id):
        runs = _chosen(request, _ranked(account_id, request, meaning))
        return _with_states(account_id, request, _snippets(account_id, runs))


def _best(
    account_id: UUID, request: Search, meaning: Meaning | None, decisions: list[Mapping[str, Any]]
) -> list[Run]:
    """Return the selected passages; the reranker is called outside `acting`."""
    with acting(account_id):
        runs = _ranked(account_id, request, meaning)
        if not configured():
            return _chosen(request, runs)
        runs = runs[: candidate_limit(request.limit)]
        passages = {
            tuple(str(chunk.pk) for chunk in each.chunks): _read(each)
            for each in _snippets(account_id, runs)
        }
    cached = [run for run in runs if run.chunks in passages]
    ordered = reranked(request.query, cached, lambda run: passages[run.chunks], decisions)
    return _chosen(request, ordered)


def _read(snippet: Snippet) -> str:
    """Return a passage for the reranker, with its headings."""
    first = snippet.chunks[0]
    return f"{path_of(first.document.title, first.headings)}\n{snippet.text}"


def _chosen(request: Search, runs: Iterable[Run]) -> list[Run]:
    good = [run for run in runs if run.score >= request.min_score]
    return _in_turn(good, request.variant.algorithm.per_document)[: request.limit]


def _key(account_id: UUID, request: Search) -> str:
    stamp = stamp_of(account_id)
    reader = settings.RERANK_BASE_URL and settings.RERANK_MODEL
    key_text = repr((replace(request, limit=0), active_model().pk, reader))
    digest = sha256(key_text.encode()).hexdigest()
    return f"knowledge-search:{account_id}:{stamp}:{request.limit}:{digest}" if stamp else ""


def _remembered(key: str) -> list[Run] | None:
    cached = cache.get(key) if key else None
    return None if cached is None else [Run.unpacked(each) for each in cached]


def _ranked(account_id: UUID, request: Search, meaning: Meaning | None) -> list[Run]:
    algorithm = request.variant.algorithm
    name = collection_of(request.variant.index_version)
    collection = Collection(account_id=account_id, name=name)
    candidate_request = CandidateRequest(
        collection=collection,
        within=_within(account_id, request, collection),
        by_document=algorithm.by_document,
    )
    signals = gather(candidate_request, request.query, meaning)
    scale = scale_of(meaning.model if meaning else active_model())
    without = frozenset() if algorithm.by_document else ALONE
    ranked = fuse(signals.query, signals.candidates, scale, without=without)
    return merged(ranked, signals.spots, signals.ready, merge=request.merge)


def _within(account_id: UUID, request: Search, collection: Collection) -> Within:
    """Return the condition on chunks. Chunks of removed documents are excluded."""
    rows = KnowledgeChunk.objects.of(account_id).cut_by(request.variant.index_version)
    filters: dict[str, Any] = {
        "document__mime__in": request.mime,
        "document__revision": request.version,
        "document__source__any_of": _sources(account_id, request),
    }
    active_filters = {name: value for name, value in filters.items() if value}
    within = Within.of(rows.filter(**active_filters))
    return restrict_to_ids(collection, within) if active_filters else within


def _sources(account_id: UUID, request: Search) -> Ids | None:
    """Return the sources to search, or None for all."""
    filters: dict[str, Any] = {"trust__in": request.trust, "kind__in": request.kinds}
    active_filters = {name: value for name, value in filters.items() if value}
    if request.scope is not None:
        active_filters["scope"] = request.scope
    if not (active_filters or request.sources):
        return None
    rows = KnowledgeSource.objects.of(account_id).filter(**active_filters)
    if request.sources:
        ids = [UUID(each) for each in request.sources if _is_id(each)]
        rows = rows.filter(Q(name__in=request.sources) | Q(pk__in=ids))
    return Ids(rows.values_list("pk", flat=True))


def _is_id(key_text: str) -> bool:
    try:
        UUID(key_text)
    except ValueError:
        return False
    return True


def _in_turn(runs: Iterable[Run], per_document: int) -> list[Run]:
    """Best first, but no document fills the list before the others had their turn."""
    first: list[Run] = []
    later: list[Run] = []
    seen: dict[IdText, int] = {}
    for run in runs:
        seen[run.document] = seen.get(run.document, 0) + 1
        (first if seen[run.document] <= per_document else later).append(run)
    return first + later


def _snippets(account_id: UUID, runs: Sequence[Run]) -> list[Snippet]:
    """Rows for what was ranked; a chunk that is gone meanwhile takes its run with it."""
    rows = (
        KnowledgeChunk.objects.of(account_id)
        .filter(pk__any_of=Ids(pk for run in runs for pk in run.chunks))
        .select_related("document__source", "text_row")
        .defer("text_row__text")
    )
    chunks = {str(row.pk): row for row in rows}
    whole = [
        (run, [chunks[pk] for pk in run.chunks])
        for run in runs
        if all(pk in chunks for pk in run.chunks)
    ]
    longer = {run.chunks: run_chunks for run, run_chunks in whole if len(run_chunks) > 1}
    spans = [(each[0].text_row_id, each[0].start, each[-1].end) for each in longer.values()]
    texts = dict(zip(longer, slices(account_id, spans), strict=True))
    return [
        Snippet(
            chunks=run_chunks,
            text=texts.get(run.chunks, run_chunks[0].text),
            score=run.score,
            parts=run.parts,
            ready=run.ready,
        )
        for run, run_chunks in whole
    ]


def _with_states(account_id: UUID, request: Search, snippets: list[Snippet]) -> list[Snippet]:
    """How far the vectors are. It is asked of those only whose meaning was not compared."""
    waiting = [chunk.pk for snippet in snippets if not snippet.ready for chunk in snippet.chunks]
    if not waiting:
        return snippets
    rows = Vector.objects.of(account_id).filter(
        collection=collection_of(request.variant.index_version),
        object_id__any_of=Ids(waiting),
        model=active_model(),
    )
    # FAILED, PENDING, READY in the order of the alphabet.
    states = dict(rows.values_list("object_id").annotate(worst=Min("state")))
    return [
        snippet if snippet.ready else replace(snippet, state=_worst(snippet, states))
        for snippet in snippets
    ]


def _worst(snippet: Snippet, states: Mapping[UUID, str]) -> str:
    return min((states[each.pk] for each in snippet.chunks if each.pk in states), default="NONE")
