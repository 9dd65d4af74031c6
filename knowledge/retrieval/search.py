"""Search of knowledge: snippets with citations, best first, and decisions."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import islice
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from django.db.models import Min, Q

from kmapp.accounts.acting import acting
from kmapp.database.ids import IdText
from kmapp.providers.active_models import active_model
from kmapp.providers.rerank import is_configured
from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.candidate_ranking import rank_candidates
from kmapp.search.id_array_lookup import IdArray
from kmapp.search.models import Vector
from kmapp.search.query_vector import QueryVector, build_cosine_scale, load_query_vector
from kmapp.search.reranking import FAILURE_CODE, compute_candidate_limit, rerank_results
from kmapp.search.scan_method_choice import restrict_to_ids
from kmapp.search.variants import DEFAULT_VARIANT, Variant
from knowledge.chunking.index_versions import collection_name
from knowledge.models import KnowledgeChunk, KnowledgeSource
from knowledge.retrieval.cache_version import get_cache_version
from knowledge.retrieval.candidates import load_signals
from knowledge.retrieval.citations import load_slices
from knowledge.retrieval.indexed_text import format_path
from knowledge.retrieval.merge_adjacent import ChunkRun, merge_chunks
from knowledge.retrieval.verify_chunks import withhold_chunks

WITHOUT_SIMILAR = frozenset({"similar"})  # the signal compares fewer words than a chunk has
# Without `by_document` each chunk is its own run, so the signal would count its score twice.
WITHOUT_RUN = WITHOUT_SIMILAR | {"run"}


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeSearch:
    """A query with its filters and limits. An empty filter matches everything."""

    query: str
    limit: int = 10
    sources: tuple[str, ...] = ()  # ids or names
    kinds: tuple[str, ...] = ()
    trust: tuple[str, ...] = ()
    mime: tuple[str, ...] = ()
    scope: str | None = None
    folder: str = ""  # of the path in the source
    tag: str = ""
    version: str = ""  # revision of the document
    min_score: float = 0.0
    merge: bool = True
    variant: Variant = DEFAULT_VARIANT


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeSnippet:
    """Adjacent chunks of one document, with the score of the best one."""

    chunks: Sequence[KnowledgeChunk]
    text: str
    score: float
    parts: Mapping[str, float]
    ready: bool  # whether it was also compared by its vectors
    state: str = "READY"  # of its vectors, the least ready one; NONE if there are none


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeSearchResult:
    snippets: Sequence[KnowledgeSnippet]
    decisions: Sequence[Mapping[str, Any]] = field(default_factory=list)


def search(account_id: UUID, request: KnowledgeSearch) -> KnowledgeSearchResult:
    """Find passages by words and by meaning. Opens `acting` itself and calls models outside it."""
    decisions: list[Mapping[str, Any]] = []
    key = _build_cache_key(account_id, request)
    cached = cache.get(key) if key else None
    if cached is None:
        meaning = load_query_vector(account_id, request.query, decisions)
        runs = _rank_and_rerank(account_id, request, meaning, decisions)
        # A result without vectors or without the reranker is incomplete, so it is not cached.
        if meaning and key and FAILURE_CODE not in {each["code"] for each in decisions}:
            rows = [run.as_list() for run in runs]
            cache.set(key, rows, timeout=settings.KNOWLEDGE_CACHE_SECONDS)
    else:
        runs = [ChunkRun.from_list(each) for each in cached]
        decisions.append({"code": "km_cache_hit", "message": "The result was cached."})
    with acting(account_id):
        snippets = _set_vector_states(account_id, request, _load_snippets(account_id, runs))
    return KnowledgeSearchResult(snippets=snippets, decisions=decisions)


def search_with_vector(
    account_id: UUID, request: KnowledgeSearch, meaning: QueryVector | None
) -> list[KnowledgeSnippet]:
    """Run the search without cache and reranker, on the primary database."""
    with acting(account_id):
        runs = _select_best(request, _rank(account_id, request, meaning))
        return _set_vector_states(account_id, request, _load_snippets(account_id, runs))


def _rank_and_rerank(
    account_id: UUID,
    request: KnowledgeSearch,
    meaning: QueryVector | None,
    decisions: list[Mapping[str, Any]],
) -> list[ChunkRun]:
    """Return the selected passages; the reranker is called outside `acting`."""
    with acting(account_id):
        runs = _rank(account_id, request, meaning)
        if not is_configured():
            return _select_best(request, runs)
        candidates = [*islice(runs, compute_candidate_limit(request.limit))]
        passages = {}
        for snippet in _load_snippets(account_id, candidates):
            first = snippet.chunks[0]
            path = format_path(first.document.title, first.headings)
            passages[tuple(str(each.pk) for each in snippet.chunks)] = f"{path}\n{snippet.text}"
    existing = [run for run in candidates if run.chunks in passages]
    ordered = rerank_results(request.query, existing, lambda run: passages[run.chunks], decisions)
    return _select_best(request, ordered)


def _select_best(request: KnowledgeSearch, runs: Iterable[ChunkRun]) -> list[ChunkRun]:
    """Return the best runs. Those that exceed `per_document` of a document follow all others."""
    first: list[ChunkRun] = []
    later: list[ChunkRun] = []
    number: Counter[IdText] = Counter()
    for run in runs:
        if len(first) == request.limit:
            break
        if run.score >= request.min_score:
            number[run.document] += 1
            has_room = number[run.document] <= request.variant.algorithm.per_document
            (first if has_room else later).append(run)
    return (first + later)[: request.limit]


def _build_cache_key(account_id: UUID, request: KnowledgeSearch) -> str:
    """Return the key of a search in the cache, or "" without a cache."""
    version = get_cache_version(account_id)
    reranker = settings.RERANK_BASE_URL and settings.RERANK_MODEL
    key_text = repr((replace(request, limit=0), active_model().pk, reranker))
    digest = sha256(key_text.encode()).hexdigest()
    return f"knowledge-search:{account_id}:{version}:{request.limit}:{digest}" if version else ""


def _rank(
    account_id: UUID, request: KnowledgeSearch, meaning: QueryVector | None
) -> Iterator[ChunkRun]:
    """Return the passages, best first, each built when it is needed."""
    algorithm = request.variant.algorithm
    name = collection_name(request.variant.index_version)
    collection = Collection(account_id=account_id, name=name)
    within = _build_chunk_filter(account_id, request, collection)
    signals = load_signals(
        collection, within, request.query, meaning, by_document=algorithm.by_document
    )
    scale = build_cosine_scale(meaning.model if meaning else active_model())
    without = WITHOUT_SIMILAR if algorithm.by_document else WITHOUT_RUN
    ranked = rank_candidates(signals.query, signals.candidates, scale, without=without)
    return merge_chunks(ranked, signals.positions, signals.ready, merge=request.merge)


def _build_chunk_filter(
    account_id: UUID, request: KnowledgeSearch, collection: Collection
) -> AllowedObjects:
    """Return the condition on chunks. Chunks of removed documents are excluded."""
    rows = KnowledgeChunk.objects.of(account_id).of_index_version(request.variant.index_version)
    filters: dict[str, Any] = {
        "document__mime__in": request.mime,
        "document__revision": request.version,
        "document__tags__contains": [request.tag] if request.tag else [],
        "document__ref__startswith": request.folder and f"{request.folder.strip('/')}/",
        "document__source__any_of": _load_source_ids(account_id, request),
    }
    active_filters = {name: value for name, value in filters.items() if value}
    within = AllowedObjects.from_queryset(rows.filter(**active_filters))
    return restrict_to_ids(collection, within) if active_filters else within


def _load_source_ids(account_id: UUID, request: KnowledgeSearch) -> IdArray | None:
    filters: dict[str, Any] = {"trust__in": request.trust, "kind__in": request.kinds}
    active_filters = {name: value for name, value in filters.items() if value}
    if request.scope is not None:
        active_filters["scope"] = request.scope
    if not (active_filters or request.sources):
        return None
    rows = KnowledgeSource.objects.of(account_id).filter(**active_filters)
    if request.sources:
        ids = []
        for each in request.sources:
            with suppress(ValueError):
                ids.append(UUID(each))
        rows = rows.filter(Q(name__in=request.sources) | Q(pk__in=ids))
    return IdArray(rows.values_list("pk", flat=True))


def _load_snippets(account_id: UUID, runs: Sequence[ChunkRun]) -> list[KnowledgeSnippet]:
    """Load the chunks of runs. A run without one of its chunks is left out.

    A chunk may have been deleted or moved meanwhile, or be withheld because it differs from the
    ledger.
    """
    rows = (
        KnowledgeChunk.objects.of(account_id)
        .filter(pk__any_of=IdArray(pk for run in runs for pk in run.chunks))
        .select_related("document__source", "text_row")
        .defer("text_row__text")
        .with_verify_on_read(account_id)
    )
    sealed = withhold_chunks(account_id, list(rows))
    chunks = {str(row.pk): row for row in sealed.chunks}
    complete = [(run, run_chunks) for run in runs if (run_chunks := _list_adjacent(run, chunks))]
    longer = {run.chunks: run_chunks for run, run_chunks in complete if len(run_chunks) > 1}
    spans = [(each[0].text_row_id, each[0].start, each[-1].end) for each in longer.values()]
    if sealed.texts:
        joined = [sealed.texts[pk][start:end] for pk, start, end in spans]
    else:
        joined = load_slices(account_id, spans)
    texts = dict(zip(longer, joined, strict=True))
    return [
        KnowledgeSnippet(
            chunks=run_chunks,
            text=text,
            score=run.score,
            parts=run.parts,
            ready=run.ready,
        )
        for run, run_chunks in complete
        if (text := texts.get(run.chunks, run_chunks[0].text))  # empty if it was erased meanwhile
    ]


def _list_adjacent(run: ChunkRun, chunks: Mapping[IdText, KnowledgeChunk]) -> list[KnowledgeChunk]:
    """Return the chunks of a run; none if one is missing or they are no longer adjacent."""
    run_chunks = [chunks[pk] for pk in run.chunks if pk in chunks]
    offsets = [chunk.chunk_index - run_chunks[0].chunk_index for chunk in run_chunks]
    return run_chunks if offsets == list(range(len(run.chunks))) else []


def _set_vector_states(
    account_id: UUID, request: KnowledgeSearch, snippets: list[KnowledgeSnippet]
) -> list[KnowledgeSnippet]:
    """Set the vector state of the snippets that were not compared by vectors."""
    unready = [chunk.pk for snippet in snippets if not snippet.ready for chunk in snippet.chunks]
    if not unready:
        return snippets
    states = load_vector_states(account_id, request.variant.index_version, unready)
    for i, snippet in enumerate(snippets):
        if not snippet.ready:
            chunk_states = [states[each.pk] for each in snippet.chunks if each.pk in states]
            snippets[i] = replace(snippet, state=min(chunk_states, default="NONE"))
    return snippets


def load_vector_states(
    account_id: UUID, index_version: str, chunk_ids: Iterable[UUID]
) -> dict[UUID, str]:
    """Return the vector state of chunks, of several parts the worst. Inside `acting`."""
    rows = Vector.objects.of(account_id).filter(
        collection=collection_name(index_version),
        object_id__any_of=IdArray(chunk_ids),
        model=active_model(),
    )
    # The states are in alphabetical order: FAILED, PENDING, READY.
    return dict(rows.values_list("object_id").annotate(worst=Min("state")))
