"""Findings about proposals: memories that they resemble, contradict or update, and their risks.

The findings and their evidence are stored for reviewers and decide nothing. Words are compared at
once, and meaning in a second triage, once the proposal has its vector.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.database.ids import IdText
from kmapp.notifications.actions import notify
from kmapp.providers.active_models import active_model
from kmapp.providers.models import EmbeddingModel
from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.batch_nearest_search import find_nearest_of_each
from kmapp.search.exact_scores import load_exact_scores
from kmapp.search.query_vector import QueryVector, build_cosine_scale
from kmapp.search.word_search import find_best_by_words, load_weighted_terms
from kmapp.security.pii import find_pii
from kmapp.security.prompt_injection import extract_excerpts
from kmapp.security.prompt_injection.confusables import list_confusable
from kmapp.text.terms import extract_terms
from memory.actions.derived_edges import load_meanings
from memory.actions.follow_up_jobs import TRIAGE, enqueue_entries
from memory.actions.notification_kinds import CONTRADICTION, PROPOSALS_WAITING
from memory.models import (
    EntryQuerySet,
    Finding,
    MemoryEdge,
    MemoryEntry,
    MemorySettings,
    Need,
    Triage,
)
from memory.models.entries import COLLECTION, CONTEXT_COLLECTION
from memory.retrieval.list_agent_names import list_agent_names
from memory.retrieval.shared_audience import Audience
from memory.review.similarity import TextComparison, compare_texts, compute_closeness

Status = MemoryEntry.Status
MAX_TERMS = 24  # the rarest words identify a text best
MAX_INSPECTED = 12  # candidates by words, and again by meaning
MAX_FINDINGS = 5  # the most similar memories
SIMILAR = Finding.Kind.SIMILAR
FLOOD = 4  # other near-duplicate proposals of the same writer within a day
NEEDS = (
    (Need.FLAGGED, {Finding.Kind.RISK, Finding.Kind.PERSONAL}),
    (Need.CONTRADICTION, {Finding.Kind.CONTRADICTION}),
    (Need.UPDATE, {Finding.Kind.UPDATE}),
    (Need.DUPLICATE, {Finding.Kind.DUPLICATE}),
)
FINDING_OF_EDGE = {
    MemoryEdge.Type.SUPERSEDES: Finding.Kind.UPDATE,
    MemoryEdge.Type.CONTRADICTS: Finding.Kind.CONTRADICTION,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lookups:
    """What the proposals of a batch share, and what is read for all of them at once."""

    model: EmbeddingModel
    agent_names: Sequence[str]
    meanings: Mapping[UUID, QueryVector]
    nearest: Mapping[UUID, Iterable[IdText]]  # memories by meaning


def triage_entries(account_id: UUID, ids: Sequence[UUID]) -> None:
    """Compare proposals with memories and replace their findings. Opens `acting` itself.

    Each proposal is compared in a transaction of its own, so that no decision waits for the others.
    """
    model = active_model()
    with acting(account_id):
        rows = MemoryEntry.objects.of(account_id).filter(pk__in=ids, status=Status.PROPOSED)
        entries = list(rows.order_by("pk"))
        if not entries:  # decided or erased since
            return
        lookups = _load_lookups(account_id, entries, model)
    for entry in entries:
        with acting(account_id):
            _triage(entry, lookups)


def _load_lookups(
    account_id: UUID, entries: Sequence[MemoryEntry], model: EmbeddingModel
) -> _Lookups:
    has_agents = any(entry.agent_id for entry in entries)
    meanings = load_meanings(entries, model)
    by_audience: dict[Audience, list[MemoryEntry]] = {}
    for entry in entries:
        if entry.pk in meanings:
            by_audience.setdefault(Audience.of_entry(entry), []).append(entry)
    nearest: dict[UUID, Iterable[IdText]] = {}
    collection = Collection(account_id=account_id, name=COLLECTION)
    for group in by_audience.values():
        queries = {entry.pk: meanings[entry.pk] for entry in group}
        within = AllowedObjects.from_queryset(_comparable_entries(group[0]))
        nearest |= find_nearest_of_each(collection, queries, within=within, limit=MAX_INSPECTED)
    return _Lookups(
        model=model,
        agent_names=list_agent_names(account_id) if has_agents else (),
        meanings=meanings,
        nearest=nearest,
    )


def _triage(entry: MemoryEntry, lookups: _Lookups) -> None:
    meaning = lookups.meanings.get(entry.pk)
    stated = list(_stated_findings(entry))
    stated_ids = {finding.other_id for finding in stated}
    nearest = lookups.nearest.get(entry.pk, ())
    compared = _compare(entry, _comparable_entries(entry), meaning, nearest)
    findings = [
        *_list_risks(entry),
        *_detect_imitation(entry, lookups.agent_names),
        *_detect_flood(entry, compared),
        *stated,
        *(each for each in compared if each.other_id not in stated_ids),
    ]
    # Lock only now, so that no decision waits for the comparison.
    rows = MemoryEntry.objects.of(entry.account_id).filter(pk=entry.pk, status=Status.PROPOSED)
    locked = rows.select_for_update(no_key=True, of=("self",))
    if not locked.filter(version=entry.version).exists():
        return  # a changed proposal has a job of its own
    earlier = Triage.objects.of(entry.account_id).filter(entry=entry, version=entry.version)
    was_by_meaning = meaning is None and earlier.filter(by_meaning=True).exists()
    if was_by_meaning and load_meanings([entry], lookups.model):
        return  # its vector was stored meanwhile, and a triage with it has ended before
    _store(entry, findings, by_meaning=meaning is not None)


def find_similar(entry: MemoryEntry) -> list[Finding]:
    """Return similar visible memories, compared by words, since the entry has no vector yet."""
    current_entries = MemoryEntry.objects.of(entry.account_id).current().exclude(pk=entry.pk)
    comparable = current_entries.filter(**Audience.of_entry(entry).fields)
    return [each for each in _compare(entry, comparable) if each.kind != SIMILAR]


def enqueue_triage_of_embedded(account_id: UUID, ids: Sequence[UUID], cause: UUID) -> None:
    """Enqueue triage of proposals whose vectors are ready, to compare them by meaning.

    Inside `acting`.
    """
    waiting = MemoryEntry.objects.of(account_id).awaiting_review().filter(pk__in=ids)
    enqueue_entries(account_id, TRIAGE, waiting.values_list("pk", flat=True), cause)


def _store(entry: MemoryEntry, findings: Sequence[Finding], *, by_meaning: bool) -> None:
    earlier = Finding.objects.of(entry.account_id).filter(entry=entry)
    was_contradicting = earlier.filter(kind=Finding.Kind.CONTRADICTION).exists()
    earlier.delete()
    Finding.objects.bulk_create(findings)
    kinds = {each.kind for each in findings}
    _, is_new = Triage.objects.update_or_create(
        entry=entry,
        defaults={
            "account_id": entry.account_id,
            "need": next((need for need, need_kinds in NEEDS if kinds & need_kinds), Need.NEW),
            "version": entry.version,
            "by_meaning": by_meaning,
            "checked_at": timezone.now(),
        },
    )
    if is_new:
        notify(entry.account_id, PROPOSALS_WAITING)
    if Finding.Kind.CONTRADICTION in kinds and not was_contradicting:
        notify(entry.account_id, CONTRADICTION, str(entry.pk))


def _list_risks(entry: MemoryEntry) -> Iterator[Finding]:
    """Yield suspicious passages, and personal data that the policy does not redact."""
    text = f"{entry.title}\n{entry.content}"
    excerpts = extract_excerpts(text, entry.flags)
    for name in entry.flags:
        details: dict[str, Any] = {"excerpt": excerpts.get(name, "")}
        yield _finding(entry, Finding.Kind.RISK, name=name, details=details)
    for kind, times in Counter(each.kind for each in find_pii(text)).items():
        yield _finding(entry, Finding.Kind.PERSONAL, name=kind, details={"times": times})


def _detect_imitation(entry: MemoryEntry, agent_names: Sequence[str]) -> Iterator[Finding]:
    """Yield a risk if its agent's name looks like that of an agent with account-wide memories."""
    if not entry.agent_id:
        return
    imitated = MemoryEntry.objects.of(entry.account_id).filter(
        status=Status.ACTIVE,
        visibility=MemoryEntry.Visibility.ACCOUNT,
        agent_id__in=list_confusable(entry.agent_id, agent_names),
    )
    name = imitated.values_list("agent_id", flat=True).first()
    if name is not None:
        yield _finding(entry, Finding.Kind.RISK, name="look_alike", details={"excerpt": name})


def _detect_flood(entry: MemoryEntry, compared: Sequence[Finding]) -> Iterator[Finding]:
    """Yield a risk if the writer made many similar proposals, which would bury those of others."""
    similar_ids = [each.other_id for each in compared if each.kind != SIMILAR and each.other_id]
    if len(similar_ids) < FLOOD:
        return
    recent = MemoryEntry.objects.of(entry.account_id).filter(
        pk__in=similar_ids,
        status=Status.PROPOSED,
        created_by=entry.created_by,
        created_at__gte=timezone.now() - timedelta(days=1),
    )
    if recent.count() >= FLOOD:
        yield _finding(entry, Finding.Kind.RISK, name="flood")


def _stated_findings(entry: MemoryEntry) -> Iterator[Finding]:
    """Yield the findings that the writer stated about other memories."""
    edges = MemoryEdge.objects.of(entry.account_id).filter(src=entry, type__in=FINDING_OF_EDGE)
    for edge in edges.order_by("dst_id"):
        kind = FINDING_OF_EDGE[MemoryEdge.Type(edge.type)]
        yield _finding(entry, kind, other_id=edge.dst_id, details={"said": True})


def _compare(
    entry: MemoryEntry,
    comparable: EntryQuerySet,
    meaning: QueryVector | None = None,
    nearest: Iterable[IdText] = (),
) -> list[Finding]:
    """Return the most similar other memories, each with its relation to the entry.

    These are the best of `comparable` by words, and those of `nearest` that still belong to it.
    """
    collection = Collection(account_id=entry.account_id, name=COLLECTION)
    words = load_weighted_terms(collection, extract_terms(entry.content))
    rarest = sorted(words.idf, key=lambda term: words.idf[term], reverse=True)[:MAX_TERMS]
    within = AllowedObjects.from_queryset(comparable)
    rare = replace(words, idf={term: words.idf[term] for term in rarest})
    # One more, which may be the entry itself.
    best = find_best_by_words(collection, rare, within=within, limit=MAX_INSPECTED + 1)
    others = [pk for pk in best if pk != str(entry.pk)][:MAX_INSPECTED]
    candidate_ids = {*others, *nearest}
    cosines: Mapping[IdText, float] = {}
    if meaning:
        cosines = load_exact_scores(
            collection, rare, meaning, candidate_ids, context_collection=CONTEXT_COLLECTION
        ).cosine
    weights = {**words.idf, **words.common_idf}
    bounds = MemorySettings.objects.get_or_default(entry.account_id).bounds
    findings = []
    for other in comparable.filter(pk__in=candidate_ids):
        cosine, close = cosines.get(str(other.pk)), None
        if meaning and cosine is not None:
            scale = build_cosine_scale(meaning.model)
            close = compute_closeness(cosine, low=scale.low, high=scale.high)
        like = compare_texts(
            entry.content, other.content, meaning=close, weights=weights, bounds=bounds
        )
        if like.relation:
            findings.append(
                _finding(
                    entry,
                    Finding.Kind(str(like.relation)),
                    other_id=other.pk,
                    score=like.score,
                    details=_serialize_evidence(like, cosine),
                )
            )
    findings.sort(key=lambda each: (each.kind == SIMILAR, -each.score, each.other_id))
    return findings[:MAX_FINDINGS]


def _comparable_entries(entry: MemoryEntry) -> EntryQuerySet:
    """Return memories of the same audience that could state the same, and the entry itself.

    Without it, the condition would differ for each proposal, and so would its cached count.
    """
    rows = MemoryEntry.objects.of(entry.account_id)
    same = Q(visibility=MemoryEntry.Visibility.ACCOUNT)
    if entry.visibility != MemoryEntry.Visibility.ACCOUNT:
        same |= Q(user_id=entry.user_id, agent_id=entry.agent_id)
    return rows.filter(same, status__in=[Status.ACTIVE, Status.PROPOSED], scope=entry.scope)


def _serialize_evidence(like: TextComparison, cosine: float | None) -> dict[str, Any]:
    return {
        "words": round(like.words, 3),
        "meaning": None if like.meaning is None else round(like.meaning, 3),
        "cosine": None if cosine is None else round(cosine, 3),
        "pairs": [list(pair) for pair in like.contrast.list_pairs()],
        "negated": like.contrast.negated,
    }


def _finding(entry: MemoryEntry, kind: Finding.Kind, **more: Any) -> Finding:
    return Finding(account_id=entry.account_id, entry=entry, kind=kind, **more)
