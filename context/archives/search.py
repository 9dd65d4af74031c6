"""Reading tool results: whole, in part, or those that a question is about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Count, F
from django.utils import timezone

from context.archives.passages import Passage, by_words, chosen, passages
from context.models import ArchiveQuerySet, ContextSettings, ToolResultArchive
from context.models.archives import COLLECTION, Within
from kmapp.accounts.acting import acting
from kmapp.errors import Denied, Invalid, NotFound
from kmapp.providers.active import active_model
from kmapp.search import queries
from kmapp.search.exact_scores import load_exact_scores
from kmapp.search.fusion import Candidate, Query, fuse
from kmapp.search.models import TermPosting
from kmapp.search.queries import Collection, Meaning, Words
from kmapp.search.query_vector import meaning_of, scale_of
from kmapp.text import tokens
from kmapp.text.terms import chinese_share, terms

CANDIDATES = 50
NONE_BESIDE = "context.none"  # archives have no second collection
MEANING = 0.5  # of a passage's score, against its words
MEANING_IN_CHINESE = 0.72
WORTH = 0.05  # a passage that says less of the question is not told


def readable(account_id: UUID, within: Within) -> ArchiveQuerySet:
    """What may be loaded: ids are not guessed, so nobody need say whose; who does is held to it.

    Where the account says so, also from other conversations. Inside `acting`.
    """
    wide = ContextSettings.objects.here(account_id).across_conversations
    return ToolResultArchive.objects.of(account_id).among(
        replace(within, conversation_id="", thread_id="") if wide else within
    )


def findable(account_id: UUID, within: Within, *, across: bool) -> ArchiveQuerySet:
    """What a search may find: one conversation's, or all that are no other user's."""
    rows = ToolResultArchive.objects.of(account_id)
    if not across:
        if not within.conversation_id and not within.thread_id:
            raise Invalid(
                "Name the conversation, or search across conversations.",
                issues=[{"path": "conversation_id", "message": "is missing"}],
            )
        return rows.among(within)
    if not ContextSettings.objects.here(account_id).across_conversations:
        raise Denied(
            "This account keeps the tool results of conversations apart.",
            code="across_conversations_off",
        )
    wide = rows.among(replace(within, conversation_id="", thread_id=""))
    return wide.filter(user_id__in=("", within.user_id))


def one(account_id: UUID, pk: UUID, within: Within) -> ToolResultArchive:
    """The archive, counted as loaded. Inside `acting`."""
    archive = readable(account_id, within).filter(pk=pk).first()
    if archive is None:
        raise NotFound("There is no such tool result: nobody kept it here, or it is gone by now.")
    ToolResultArchive.objects.of(account_id).filter(pk=pk).update(
        load_count=F("load_count") + 1, last_loaded_at=timezone.now()
    )
    return archive


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Passages of one archive that answer a question."""

    archive: ToolResultArchive
    passages: Sequence[tuple[Passage, float]]  # in the order of the text
    tokens: int

    @property
    def text(self) -> str:
        """The passages, with a mark wherever something between them is left out."""
        told, end = "", 0
        for passage, _ in self.passages:
            told += ("" if passage.start == end else "\n…\n" if told else "…\n") + passage.text
            end = passage.end
        return told if end == self.archive.result_length else f"{told}\n…"


@dataclass(kw_only=True)
class Question:
    """What is asked. Its meaning is asked of the model once, when it is first wanted.

    That opens no `acting`, and is best done outside of one.
    """

    account_id: UUID
    text: str
    decisions: list[Mapping[str, Any]] = field(default_factory=list)

    @cached_property
    def meaning(self) -> Meaning | None:
        return meaning_of(self.account_id, self.text, self.decisions)


def passages_about(question: Question, pk: UUID, within: Within, max_tokens: int) -> Told:
    """The passages nearest a question. Opens `acting` itself, and asks the model outside."""
    account_id, meaning = question.account_id, question.meaning
    with acting(account_id):
        archive = one(account_id, pk, within)
        cosines = _cosines(account_id, pk, meaning)
    found = passages(archive.result_full)
    scores = _scores(found, question.text, meaning, cosines)
    costs = {at: tokens.count(found[at].text) + 2 for at in scores}  # and the mark before it
    kept = chosen(found, scores, costs, max_tokens)
    while kept and _tokens(archive, found, kept) > max_tokens:  # pieces join to other tokens
        kept.remove(min(kept, key=lambda at: scores[at]))
    return Told(
        archive=archive,
        passages=[(found[at], scores[at]) for at in kept],
        tokens=_tokens(archive, found, kept),
    )


def _tokens(archive: ToolResultArchive, found: Sequence[Passage], kept: Sequence[int]) -> int:
    told = Told(archive=archive, passages=[(found[at], 0.0) for at in kept], tokens=0)
    return tokens.count(told.text)


def _scores(
    found: Sequence[Passage], query: str, meaning: Meaning | None, cosines: Mapping[int, float]
) -> dict[int, float]:
    words = by_words(found, query)
    if meaning is None or not cosines:
        return words
    scale = scale_of(meaning.model)
    share = MEANING + (MEANING_IN_CHINESE - MEANING) * chinese_share(query)
    scores = {
        at: (1 - share) * words.get(at, 0.0)
        + share * (scale.of(cosines[at]) if at in cosines else 0.0)
        for at in range(len(found))
    }
    return {at: score for at, score in scores.items() if score > WORTH}


def _cosines(account_id: UUID, pk: UUID, meaning: Meaning | None) -> dict[int, float]:
    """Of each passage that has its vector. Inside `acting`."""
    if meaning is None:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT part, 1 - ({meaning.distance}) FROM search_vector "  # noqa: S608 - ours
            "WHERE account_id = %s AND model_id = %s AND collection = %s AND object_id = %s "
            "AND state = 'READY'",
            [meaning.literal, account_id, meaning.model.pk, COLLECTION, pk],
        )
        return dict(cursor.fetchall())


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """How much of a question an archive holds, each from 0 to 1."""

    words: float  # the share of its words
    meaning: float  # of the passage that is nearest


def relevance(
    account_id: UUID, query: str, meaning: Meaning | None, rows: ArchiveQuerySet
) -> dict[UUID, Relevance]:
    """Of a few archives, each by itself: no other says how much is enough. Inside `acting`."""
    asked = set(terms(query))
    pks = list(rows.values_list("pk", flat=True))
    held = TermPosting.objects.of(account_id).filter(
        collection=COLLECTION, term__in=asked, document__in=pks
    )
    words = dict(held.values_list("document").annotate(Count("term")))
    collection = Collection(account_id=account_id, name=COLLECTION)
    none = Words(idf={}, average_length=1.0)
    measures = load_exact_scores(
        collection, none, meaning, map(str, pks), context_collection=NONE_BESIDE
    )
    scale = scale_of(meaning.model if meaning else active_model())
    return {
        pk: Relevance(
            words=words.get(pk, 0) / len(asked) if asked else 0.0,
            meaning=0.0 if (cosine := measures.cosine.get(str(pk))) is None else scale.of(cosine),
        )
        for pk in pks
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One archive found, and the passage that answers best by its words."""

    archive: ToolResultArchive
    score: float
    passage: Passage


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Archives, best first, and what was decided on the way to them."""

    hits: Sequence[Hit]
    decisions: Sequence[Mapping[str, Any]]


def search(account_id: UUID, query: str, within: Within, *, across: bool, limit: int) -> Found:
    """Find archives by words and by meaning. Opens `acting` itself, asks the model outside."""
    with acting(account_id):
        rows = findable(account_id, within, across=across)
    decisions: list[Mapping[str, Any]] = []
    meaning = meaning_of(account_id, query, decisions)
    with acting(account_id):
        ranked = ranking(account_id, query, meaning, rows)[:limit]
        whole = ToolResultArchive.objects.of(account_id).in_bulk([pk for pk, _ in ranked])
    hits = [
        Hit(archive=whole[pk], score=score, passage=_best(whole[pk], query))
        for pk, score in ranked
        if pk in whole
    ]
    return Found(hits=hits, decisions=decisions)


def _best(archive: ToolResultArchive, query: str) -> Passage:
    found = passages(archive.result_full)
    scores = by_words(found, query)
    return found[max(scores, key=lambda at: (scores[at], -at), default=0)]


def ranking(
    account_id: UUID, query: str, meaning: Meaning | None, rows: ArchiveQuerySet
) -> list[tuple[UUID, float]]:
    """These archives by how well they answer, best first. Inside `acting`."""
    collection = Collection(account_id=account_id, name=COLLECTION)
    within = queries.Within.of(rows)
    words = queries.weigh(collection, terms(query))
    named = queries.best_by_words(collection, words, within=within, limit=CANDIDATES)
    near = (
        queries.nearest(collection, meaning, within=within, limit=4 * CANDIDATES) if meaning else {}
    )
    measures = load_exact_scores(
        collection, words, meaning, {*named, *near}, context_collection=NONE_BESIDE
    )
    candidates = [
        Candidate(
            id=pk,
            cosine=measures.cosine.get(pk),
            bm25=measures.bm25.get(pk, 0.0),
            holds=measures.holds.get(pk, 0),
        )
        for pk in {*named, *near}
    ]
    asked = Query(text=query, idf=words.idf)
    scale = scale_of(meaning.model if meaning else active_model())
    return [(UUID(each.id), each.score) for each in fuse(asked, candidates, scale)]
