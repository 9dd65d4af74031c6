"""Reading of tool results: whole, by passage, or by search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models import F
from django.utils import timezone

from context.archives.passage_selection import score_by_words, select_passages
from context.archives.passage_splitting import TextPassage, split_passages
from context.archives.placeholders import passages_header
from context.models import ArchiveQuerySet, ContextSettings, ToolResultArchive
from context.models.archives import COLLECTION, ArchiveScope
from kmapp.accounts.acting import acting
from kmapp.database.raw_sql import fetch_all
from kmapp.errors import Denied, Invalid, NotFound
from kmapp.providers.active_models import active_model
from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.candidate_ranking import rank_candidates
from kmapp.search.candidate_signals import Candidate, Query
from kmapp.search.exact_scores import load_exact_scores
from kmapp.search.nearest_search import find_nearest
from kmapp.search.query_vector import QueryVector, build_cosine_scale, load_query_vector
from kmapp.search.word_search import (
    WeightedTerms,
    count_terms,
    find_best_by_words,
    load_weighted_terms,
)
from kmapp.text import token_counter
from kmapp.text.terms import chinese_share, extract_terms

CANDIDATES = 50
NO_FALLBACK = "context.none"  # archives have no second collection
VECTOR_SHARE = 0.5  # share of the cosine in a passage's score
CHINESE_VECTOR_SHARE = 0.72
MIN_SCORE = 0.05  # passages below this score are left out
# Characters in which a search looks for the best passages: in all results together, best first, and
# at least in each of them. A result may have a million, so that all would take several seconds.
MAX_SCANNED, MIN_SCANNED = 2_000_000, 10_000


def readable_archives(account_id: UUID, within: ArchiveScope) -> ArchiveQuerySet:
    """Return the archives that may be loaded. Inside `acting`.

    Ids cannot be guessed, so that the caller need not name the user; a named user is enforced.
    Archives of other conversations are included if the account allows it.
    """
    shared = ContextSettings.objects.get_or_default(account_id).across_conversations
    return ToolResultArchive.objects.of(account_id).in_scope(
        replace(within, conversation_id="", thread_id="") if shared else within
    )


def searchable_archives(account_id: UUID, within: ArchiveScope, *, across: bool) -> ArchiveQuerySet:
    """Return the archives to search: of one conversation, or all that are not another user's."""
    rows = ToolResultArchive.objects.of(account_id)
    if not across:
        if not within.conversation_id and not within.thread_id:
            raise Invalid(
                "Send a conversation_id, or set across to true.",
                issues=[{"path": "conversation_id", "message": "is missing"}],
            )
        return rows.in_scope(within)
    if not ContextSettings.objects.get_or_default(account_id).across_conversations:
        raise Denied(
            "This account does not allow searches across conversations. Send a conversation_id.",
            code="across_conversations_off",
        )
    shared = rows.in_scope(replace(within, conversation_id="", thread_id=""))
    return shared.filter(user_id__in=("", within.user_id))


def load_archive(account_id: UUID, pk: UUID, within: ArchiveScope) -> ToolResultArchive:
    """Return the archive and count the load. Inside `acting`."""
    archive = readable_archives(account_id, within).filter(pk=pk).first()
    if archive is None:
        raise NotFound("The tool result does not exist or was erased.")
    ToolResultArchive.objects.of(account_id).filter(pk=pk).update(
        load_count=F("load_count") + 1, last_loaded_at=timezone.now()
    )
    return archive


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPassages:
    archive: ToolResultArchive
    passages: Sequence[tuple[TextPassage, float]]  # in the order of the text
    header: str = ""

    @property
    def text(self) -> str:
        """Return the passages, with a mark where text between them is left out."""
        text, end = "", 0
        for passage, _ in self.passages:
            text += ("" if passage.start == end else "\n…\n" if text else "…\n") + passage.text
            end = passage.end
        return self.header + (text if end == self.archive.result_length else f"{text}\n…")

    @property
    def tokens(self) -> int:
        return token_counter.count_tokens(self.text)


@dataclass(kw_only=True)
class EmbeddedQuery:
    """A query whose vector is requested on first use.

    The request opens no `acting`, and belongs outside of one.
    """

    account_id: UUID
    text: str
    decisions: list[Mapping[str, Any]] = field(default_factory=list)

    @cached_property
    def query_vector(self) -> QueryVector | None:
        return load_query_vector(self.account_id, self.text, self.decisions)


def load_passages(
    question: EmbeddedQuery,
    pk: UUID,
    within: ArchiveScope,
    max_tokens: int,
    *,
    has_header: bool = False,
) -> LoadedPassages:
    """Return the passages that match a query, on request under a header. Opens `acting` itself."""
    account_id, query_vector = question.account_id, question.query_vector
    with acting(account_id):
        archive = load_archive(account_id, pk, within)
        cosines = _cosines(account_id, pk, query_vector)
    passages = split_passages(archive.result_full)
    scores = _scores(passages, question.text, query_vector, cosines)
    header = passages_header(pk, archive.language) if has_header else ""
    room = max_tokens - token_counter.count_tokens(header)
    selected = select_passages(
        passages, scores, question.text, max_tokens=room, count=token_counter.count_tokens
    )
    while True:
        scored = [(each.passage, each.score) for each in selected]
        loaded = LoadedPassages(archive=archive, passages=scored, header=header)
        if not selected or loaded.tokens <= max_tokens:
            return loaded
        # Joined passages can have more tokens than their sum.
        selected.remove(min(selected, key=lambda each: each.score))


def _scores(
    passages: Sequence[TextPassage],
    query: str,
    query_vector: QueryVector | None,
    cosines: Mapping[int, float],
) -> dict[int, float]:
    words = score_by_words(passages, query)
    if query_vector is None or not cosines:
        return words
    scale = build_cosine_scale(query_vector.model)
    share = VECTOR_SHARE + (CHINESE_VECTOR_SHARE - VECTOR_SHARE) * chinese_share(query)
    scores = {
        index: (1 - share) * words.get(index, 0.0)
        + share * (scale.normalize(cosines[index]) if index in cosines else 0.0)
        for index in range(len(passages))
    }
    return {index: score for index, score in scores.items() if score > MIN_SCORE}


def _cosines(account_id: UUID, pk: UUID, query_vector: QueryVector | None) -> dict[int, float]:
    """Return the cosine of each passage that has a vector. Inside `acting`."""
    if query_vector is None:
        return {}
    rows = fetch_all(
        f"SELECT part, 1 - ({query_vector.distance_sql}) FROM search_vector "  # noqa: S608 - ours
        "WHERE account_id = %s AND model_id = %s AND collection = %s AND object_id = %s "
        "AND state = 'READY'",
        [query_vector.literal, account_id, query_vector.model.pk, COLLECTION, pk],
    )
    return dict(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    term_share: float  # share of the query's terms that it contains
    similarity: float  # of the passage that is nearest


def measure_relevance(
    account_id: UUID, query: str, query_vector: QueryVector | None, rows: ArchiveQuerySet
) -> dict[UUID, Relevance]:
    """Measure each archive on its own, without normalising over the others. Inside `acting`."""
    query_terms = set(extract_terms(query))
    pks = list(rows.values_list("pk", flat=True))
    collection = Collection(account_id=account_id, name=COLLECTION)
    words = count_terms(collection, query_terms, pks)
    no_words = WeightedTerms(idf={}, average_length=1.0)
    measures = load_exact_scores(
        collection, no_words, query_vector, map(str, pks), context_collection=NO_FALLBACK
    )
    scale = build_cosine_scale(query_vector.model if query_vector else active_model())
    return {
        pk: Relevance(
            term_share=words.get(pk, 0) / len(query_terms) if query_terms else 0.0,
            similarity=0.0
            if (cosine := measures.cosine.get(str(pk))) is None
            else scale.normalize(cosine),
        )
        for pk in pks
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveMatch:
    archive: ToolResultArchive
    score: float
    passage: TextPassage


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSearchResult:
    hits: Sequence[ArchiveMatch]
    decisions: Sequence[Mapping[str, Any]]


def search_archives(
    account_id: UUID, query: str, within: ArchiveScope, *, across: bool, limit: int
) -> ArchiveSearchResult:
    """Search archives by words and by meaning. Opens `acting` itself."""
    with acting(account_id):
        rows = searchable_archives(account_id, within, across=across)
    decisions: list[Mapping[str, Any]] = []
    query_vector = load_query_vector(account_id, query, decisions)
    with acting(account_id):
        ranked = rank_archives(account_id, query, query_vector, rows)[:limit]
        archives = ToolResultArchive.objects.of(account_id).in_bulk([pk for pk, _ in ranked])
    hits, left = [], MAX_SCANNED
    for pk, score in ranked:
        if archive := archives.get(pk):
            text = archive.result_full[: max(left, MIN_SCANNED)]
            left -= len(text)
            hits.append(
                ArchiveMatch(archive=archive, score=score, passage=_find_best_passage(text, query))
            )
    return ArchiveSearchResult(hits=hits, decisions=decisions)


def _find_best_passage(text: str, query: str) -> TextPassage:
    passages = split_passages(text)
    scores = score_by_words(passages, query)
    return passages[max(scores, key=lambda index: (scores[index], -index), default=0)]


def rank_archives(
    account_id: UUID, query: str, query_vector: QueryVector | None, rows: ArchiveQuerySet
) -> list[tuple[UUID, float]]:
    """Return the archives with their scores, best first. Inside `acting`."""
    collection = Collection(account_id=account_id, name=COLLECTION)
    within = AllowedObjects.from_queryset(rows)
    words = load_weighted_terms(collection, extract_terms(query))
    lexical_ids = find_best_by_words(collection, words, within=within, limit=CANDIDATES)
    nearest = {}
    if query_vector:
        nearest = find_nearest(collection, query_vector, within=within, limit=4 * CANDIDATES)
    ids = {*lexical_ids, *nearest}
    measures = load_exact_scores(
        collection, words, query_vector, ids, context_collection=NO_FALLBACK
    )
    candidates = [
        Candidate(
            id=pk,
            cosine=measures.cosine.get(pk),
            bm25=measures.bm25.get(pk, 0.0),
            term_mask=measures.term_mask.get(pk, 0),
        )
        for pk in ids
    ]
    fusion_query = Query(text=query, idf=words.idf)
    scale = build_cosine_scale(query_vector.model if query_vector else active_model())
    ranked = rank_candidates(fusion_query, candidates, scale)
    return [(UUID(pk), score) for pk, score in zip(ranked.ids, ranked.scores, strict=True)]
