"""Jobs that follow a change of memories: vectors, triage, edges and topics."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db.models.functions import Now

from kmapp.accounts.acting import acting
from kmapp.database.bulk_insert import Insert
from kmapp.outbox.models import OutboxEvent
from kmapp.outbox.publish import NewJob, publish, publish_all
from kmapp.providers.active_models import models_in_use
from kmapp.search.vector_storage import TextPart, await_vectors, insert_pending
from kmapp.search.word_index import insert_documents
from memory.models import MemoryEntry
from memory.models.entries import COLLECTION
from memory.retrieval.indexed_text import build_indexed_text

EMBED = "memory.entry.embed"
EMBED_CONTEXT = "memory.entry.embed_context"
ORDER = "memory.run.order"
TRIAGE = "memory.entry.triage"
RELATE = "memory.entry.relate"
TOPICS = "memory.topics.grow"
BULK = "memory.review.bulk"
BULK_UNDO = "memory.review.bulk_undo"
WEBHOOK_SOURCE = "memory"  # of changes, whose references are versions or erased memories


def enqueue_embeddings(
    account_id: UUID, entries: Sequence[MemoryEntry], commit_id: UUID
) -> list[UUID]:
    """Enqueue the embedding of entries and the ordering of their runs. Return their events."""
    for model in models_in_use():
        await_vectors(account_id, COLLECTION, model.pk, _parts(entries))
    return enqueue_ordering(account_id, entries, commit_id)


def index_new_entries(
    account_id: UUID,
    new_entries: Sequence[MemoryEntry],
    to_embed: Sequence[MemoryEntry],
    commit_id: UUID,
) -> list[UUID]:
    """Index the words of new entries and enqueue the jobs that follow, in one statement.

    `to_embed` may contain existing entries. Return its events in its order.
    """
    texts = {entry.pk: build_indexed_text(entry) for entry in new_entries}
    existing = [entry for entry in to_embed if entry.pk not in texts]
    inserts = list(insert_documents(account_id, COLLECTION, texts))
    for model in models_in_use():
        if existing:
            await_vectors(account_id, COLLECTION, model.pk, _parts(existing))
        new = [entry for entry in to_embed if entry.pk in texts]
        inserts += insert_pending(account_id, COLLECTION, model.pk, _parts(new))
    proposals = [entry.pk for entry in new_entries if entry.status == MemoryEntry.Status.PROPOSED]
    return enqueue_ordering(account_id, to_embed, commit_id, proposals, inserts)


def _parts(entries: Sequence[MemoryEntry]) -> list[TextPart]:
    return [
        TextPart(object_id=entry.pk, part=0, text_sha256="")
        for entry in entries
        if not entry.is_cold
    ]


def enqueue_ordering(
    account_id: UUID,
    entries: Sequence[MemoryEntry],
    commit_id: UUID,
    proposals: Sequence[UUID] = (),
    also: Sequence[Insert] = (),
) -> list[UUID]:
    """Enqueue the ordering of runs, and the embedding of entries in the context of their run.

    `also` are further inserts for the same statement.
    """
    runs: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        if entry.run_id:
            runs.setdefault((entry.user_id, entry.run_id), []).append(str(entry.pk))
    new_jobs = {
        EMBED: _entry_jobs((entry.pk for entry in entries), commit_id),
        ORDER: [
            NewJob(job_key=f"{ids[0]}:{commit_id}", payload={"entries": ids})
            for ids in runs.values()
        ],
        TRIAGE: _entry_jobs(proposals, commit_id),
    }
    events = publish_all(account_id, new_jobs, also)[EMBED]
    return [events[new_job.job_key] for new_job in new_jobs[EMBED]]


def enqueue_entries(account_id: UUID, topic: str, entries: Iterable[UUID], cause: UUID) -> None:
    """Enqueue one job for each entry; `cause` makes the job keys unique."""
    publish(account_id, topic, _entry_jobs(entries, cause))


def _entry_jobs(entries: Iterable[UUID], cause: UUID) -> list[NewJob]:
    return [NewJob(job_key=f"{each}:{cause}", payload={"entry": str(each)}) for each in entries]


def enqueue_edge_derivation(account_id: UUID, entries: Sequence[UUID], cause: UUID) -> None:
    """Enqueue the derivation of edges for visible memories that have vectors."""
    new_job = NewJob(
        job_key=f"{entries[0]}:{cause}", payload={"entries": [str(each) for each in entries]}
    )
    publish(account_id, RELATE, [new_job])


def enqueue_topic_growth(account_id: UUID) -> None:
    """Enqueue the growth of topics if memories were embedded since the last run.

    Opens `acting` itself.
    """
    with acting(account_id):
        rows = OutboxEvent.objects.of(account_id).filter(topic=RELATE)
        # Events of the future are from before the clock went back; they must not hide new ones.
        newest = rows.filter(created_at__lte=Now()).order_by("-pk").first()
        if newest:
            publish(account_id, TOPICS, [NewJob(job_key=str(newest.pk), payload={})])
