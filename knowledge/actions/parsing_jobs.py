"""Jobs of workers that parse files and fetch pages."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from uuid import UUID

from kmapp.outbox.models import OutboxEvent
from kmapp.outbox.publish import NewJob, publish
from knowledge.models import KnowledgeDocument

READ = "knowledge.document.read"
FETCH = "knowledge.document.fetch"


def enqueue_parsing(
    account_id: UUID,
    documents: Sequence[KnowledgeDocument],
    job: UUID,
    former_titles: Mapping[UUID, str] = MappingProxyType({}),
) -> list[UUID]:
    """Queue files for parsing and pages for fetching. Return the ids of the events, in order.

    The title that a file states replaces the one whose digest is in `former_titles`, and no title
    that is delivered in the meantime.
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


def find_former_titles(document: KnowledgeDocument) -> dict[UUID, str]:
    """Return `former_titles` of the last job of this document, if it is still stored."""
    jobs = OutboxEvent.objects.of(document.account_id).filter(topic__in=[READ, FETCH])
    last = jobs.filter(job_key__startswith=f"{document.pk}:").order_by("-created_at").first()
    former_title = last.payload.get("former_title") if last else None
    return {} if former_title is None else {document.pk: former_title}
