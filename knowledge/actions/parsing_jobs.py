"""Jobs of workers that parse files and fetch pages."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from uuid import UUID

from kmapp.outbox.models import OutboxEvent
from kmapp.outbox.publish import NewJob, publish
from knowledge.models import KnowledgeDocument
from knowledge.parsing.failure_messages import JOB_FAILED

READ = "knowledge.document.read"
FETCH = "knowledge.document.fetch"


def enqueue_parsing(
    account_id: UUID,
    documents: Sequence[KnowledgeDocument],
    job: UUID,
    former_titles: Mapping[UUID, str] = MappingProxyType({}),
) -> list[UUID]:
    """Queue files for parsing and pages for fetching. Return the ids of the events, in order.

    The title of a parsed file replaces only a title whose digest is in `former_titles`, so that it
    does not replace a title that is delivered in the meantime.
    """
    new_jobs: dict[str, list[NewJob]] = {READ: [], FETCH: []}
    for document in documents:
        payload = {"document": str(document.pk)}
        if document.pk in former_titles:
            payload["former_title"] = former_titles[document.pk]
        new_job = NewJob(job_key=f"{document.pk}:{job}", payload=payload)
        new_jobs[READ if document.sha256 else FETCH].append(new_job)
    events = publish(account_id, READ, new_jobs[READ]) | publish(account_id, FETCH, new_jobs[FETCH])
    return [events[f"{document.pk}:{job}"] for document in documents]


def mark_failed(account_id: UUID, document_id: UUID, event_id: UUID) -> None:
    """Mark a pending document as failed if this is its last job. Inside `acting`."""
    last = _find_last_job(account_id, document_id)
    if last and last.pk == event_id:
        rows = KnowledgeDocument.objects.of(account_id).not_removed()
        pending = rows.filter(pk=document_id, state=KnowledgeDocument.State.PENDING)
        pending.update(state=KnowledgeDocument.State.FAILED, error=JOB_FAILED)


def find_former_titles(document: KnowledgeDocument) -> dict[UUID, str]:
    """Return `former_titles` of the last job of this document, if it is still stored."""
    last = _find_last_job(document.account_id, document.pk)
    former_title = last.payload.get("former_title") if last else None
    return {} if former_title is None else {document.pk: former_title}


def _find_last_job(account_id: UUID, document_id: UUID) -> OutboxEvent | None:
    jobs = OutboxEvent.objects.of(account_id).filter(topic__in=[READ, FETCH])
    return jobs.filter(job_key__startswith=f"{document_id}:").order_by("-created_at").first()
