"""Triage of proposals: what they resemble, contradict or update, and their risks.

Findings are stored with their evidence and decide nothing. Words are compared at once, and meaning
in a second triage, once the proposal has its vector.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.database.ids import IdText
from kmapp.pii import find_pii
from kmapp.prompt_injection import extract_excerpts
from kmapp.prompt_injection.confusables import list_confusable
from kmapp.providers.active import active_model
from kmapp.search.exact_scores import load_exact_scores
from kmapp.search.queries import Collection, Meaning, Within, Words, best_by_words, nearest, weigh
from kmapp.search.query_vector import scale_of
from kmapp.text.terms import terms
from memory.actions.derived_edges import load_meaning
from memory.actions.enqueue import enqueue_triage
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
from memory.retrieval.agents import agent_names
from memory.retrieval.visibility import Audience
from memory.review.similarity import Bounds, Likeness, closeness, likeness

Status = MemoryEntry.Status
TERMS = 24  # the rarest words tell most; more words only cost time
MAX_INSPECTED = 12  # of each list
MAX_FINDINGS = 5  # the most alike
SIMILAR = Finding.Kind.SIMILAR
FLOOD = 4  # other proposals of the same writer within a day that say nearly the same
A_DAY = timedelta(days=1)
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


def triage_entry(account_id: UUID, entry_id: UUID) -> Triage | None:
    """Compare one proposal with memories, and replace its findings. Opens `acting` itself."""
    model = active_model()
    with acting(account_id):
        rows = MemoryEntry.objects.of(account_id).filter(pk=entry_id, status=Status.PROPOSED)
        entry = rows.first()
        if entry is None:  # decided or erased since
            return None
        meaning = load_meaning(entry, model)
        stated = list(_stated_findings(entry))
        stated_ids = {finding.other_id for finding in stated}
        compared = list(_compared(entry, meaning, _comparable_entries(entry)))
        findings = [
            *_risks(entry),
            *_of_an_imitator(entry),
            *_of_a_flood(entry, compared),
            *stated,
            *(each for each in compared if each.other_id not in stated_ids),
        ]
        # Locked only now, so that no decision waits for a comparison. A change has its own job.
        held = rows.select_for_update(no_key=True, of=("self",))
        if not held.filter(version=entry.version).exists():
            return None
        return _store(entry, findings, by_meaning=meaning is not None)


def find_similar(entry: MemoryEntry) -> list[Finding]:
    """Return similar visible memories by words, before vectors exist."""
    current_entries = MemoryEntry.objects.of(entry.account_id).current().exclude(pk=entry.pk)
    comparable = current_entries.filter(**Audience.of_entry(entry).fields)
    findings = _compared(entry, None, comparable)
    return [each for each in findings if each.kind != SIMILAR]


def enqueue_triage_of_embedded(account_id: UUID, ids: Sequence[UUID], cause: UUID) -> None:
    """Enqueue triage of proposals whose vectors are ready, to compare them by meaning."""
    with acting(account_id):
        waiting = MemoryEntry.objects.of(account_id).awaiting_review().filter(pk__in=ids)
        enqueue_triage(account_id, waiting.values_list("pk", flat=True), cause)


def _store(entry: MemoryEntry, findings: Sequence[Finding], *, by_meaning: bool) -> Triage:
    Finding.objects.of(entry.account_id).filter(entry=entry).delete()
    Finding.objects.bulk_create(findings)
    kinds = {each.kind for each in findings}
    return Triage.objects.update_or_create(
        entry=entry,
        defaults={
            "account_id": entry.account_id,
            "need": next((need for need, need_kinds in NEEDS if kinds & need_kinds), Need.NEW),
            "version": entry.version,
            "by_meaning": by_meaning,
            "checked_at": timezone.now(),
        },
    )[0]


def _risks(entry: MemoryEntry) -> Iterator[Finding]:
    """Return suspicious passages and personal data that the policy does not redact."""
    text = f"{entry.title}\n{entry.content}"
    seen = extract_excerpts(text, entry.flags)
    for name in entry.flags:
        yield _finding(entry, Finding.Kind.RISK, name=name, details={"excerpt": seen.get(name, "")})
    kinds = [each.kind for each in find_pii(text)]
    for kind in dict.fromkeys(kinds):
        yield _finding(
            entry, Finding.Kind.PERSONAL, name=kind, details={"times": kinds.count(kind)}
        )


def _of_an_imitator(entry: MemoryEntry) -> Iterator[Finding]:
    """Yield a risk if its agent's name looks like that of an agent with account-wide memories."""
    if not entry.agent_id:
        return
    current_entries = MemoryEntry.objects.of(entry.account_id).filter(
        status=Status.ACTIVE,
        visibility=MemoryEntry.Visibility.ACCOUNT,
        agent_id__in=list_confusable(entry.agent_id, agent_names(entry.account_id)),
    )
    name = current_entries.values_list("agent_id", flat=True).first()
    if name is not None:
        yield _finding(entry, Finding.Kind.RISK, name="look_alike", details={"excerpt": name})


def _of_a_flood(entry: MemoryEntry, compared: Sequence[Finding]) -> Iterator[Finding]:
    """Yield a risk if it is one of many similar proposals, which would bury those of others."""
    alike = [each.other_id for each in compared if each.kind != SIMILAR and each.other_id]
    if len(alike) < FLOOD:
        return
    rows = MemoryEntry.objects.of(entry.account_id).filter(pk__in=alike, status=Status.PROPOSED)
    lately = rows.filter(created_by=entry.created_by, created_at__gte=timezone.now() - A_DAY)
    if lately.count() >= FLOOD:
        yield _finding(entry, Finding.Kind.RISK, name="flood")


def _stated_findings(entry: MemoryEntry) -> Iterator[Finding]:
    """Yield the findings that the writer stated about other memories."""
    edges = MemoryEdge.objects.of(entry.account_id).filter(src=entry, type__in=FINDING_OF_EDGE)
    for edge in edges.order_by("dst_id"):
        kind = FINDING_OF_EDGE[MemoryEdge.Type(edge.type)]
        yield _finding(entry, kind, other_id=edge.dst_id, details={"said": True})


def _compared(
    entry: MemoryEntry, meaning: Meaning | None, comparable: EntryQuerySet
) -> Iterator[Finding]:
    """Yield the most similar ones of these memories, each with its relation to the entry."""
    collection = Collection(account_id=entry.account_id, name=COLLECTION)
    words = weigh(collection, terms(entry.content))
    rarest = sorted(words.idf, key=lambda term: words.idf[term], reverse=True)[:TERMS]
    within = Within.of(comparable)
    rare = replace(words, idf={term: words.idf[term] for term in rarest})
    nearest_ids = {*best_by_words(collection, rare, within=within, limit=MAX_INSPECTED)}
    if meaning:
        nearest_ids |= nearest(collection, meaning, within=within, limit=MAX_INSPECTED).keys()
    cosines = _cosines(collection, rare, meaning, nearest_ids)
    others = MemoryEntry.objects.of(entry.account_id).filter(pk__in=nearest_ids)
    bounds = MemorySettings.objects.get_or_default(entry.account_id).bounds
    seen = [
        (other.pk, _likeness(entry, other, words, meaning, cosines.get(str(other.pk)), bounds))
        for other in others
    ]
    alike = sorted(seen, key=lambda pair: (pair[1].relation == "similar", -pair[1].score, pair[0]))
    for pk, like in [each for each in alike if each[1].relation][:MAX_FINDINGS]:
        yield _finding(
            entry,
            Finding.Kind(str(like.relation)),
            other_id=pk,
            score=like.score,
            details=_details(like, cosines.get(str(pk))),
        )


def _comparable_entries(entry: MemoryEntry) -> EntryQuerySet:
    """Return memories of the same audience that could state the same."""
    rows = MemoryEntry.objects.of(entry.account_id).exclude(pk=entry.pk)
    same = Q(visibility=MemoryEntry.Visibility.ACCOUNT)
    if entry.visibility != MemoryEntry.Visibility.ACCOUNT:
        same |= Q(user_id=entry.user_id, agent_id=entry.agent_id)
    counting = Q(status__in=[Status.ACTIVE, Status.PROPOSED])
    return rows.filter(same, counting, scope=entry.scope)


def _cosines(
    collection: Collection, words: Words, meaning: Meaning | None, nearest_ids: set[IdText]
) -> Mapping[IdText, float]:
    if meaning is None:
        return {}
    return load_exact_scores(
        collection, words, meaning, nearest_ids, context_collection=CONTEXT_COLLECTION
    ).cosine


def _likeness(
    entry: MemoryEntry,
    other: MemoryEntry,
    words: Words,
    meaning: Meaning | None,
    cosine: float | None,
    bounds: Bounds,
) -> Likeness:
    close = None
    if meaning and cosine is not None:
        scale = scale_of(meaning.model)
        close = closeness(cosine, low=scale.low, high=scale.high)
    return likeness(entry.content, other.content, meaning=close, weights=words.idf, bounds=bounds)


def _details(like: Likeness, cosine: float | None) -> dict[str, Any]:
    """Return the evidence for display."""
    return {
        "words": round(like.words, 3),
        "meaning": None if like.meaning is None else round(like.meaning, 3),
        "cosine": None if cosine is None else round(cosine, 3),
        "pairs": [list(pair) for pair in like.contrast.pairs()],
        "negated": like.contrast.negated,
    }


def _finding(entry: MemoryEntry, kind: Finding.Kind, **more: Any) -> Finding:
    return Finding(account_id=entry.account_id, entry=entry, kind=kind, **more)
