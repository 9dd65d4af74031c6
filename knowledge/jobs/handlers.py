"""Outbox handlers of knowledge."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from kmapp.errors import ReadOnly, Unavailable
from kmapp.outbox.registry import Job, RetryLater, register_handler
from kmapp.providers.errors import Faulted, ProviderError
from kmapp.search.embed_objects import PROVIDER_PAUSE
from knowledge.actions.chunks import EMBED
from knowledge.actions.embeddings import embed_chunks
from knowledge.actions.page_fetches import fetch_document
from knowledge.actions.parse_documents import parse_document
from knowledge.actions.parsing_jobs import FETCH, READ, mark_failed


@contextmanager
def _postpone_if_unavailable() -> Iterator[None]:
    """Postpone a job while the virus scanner is unavailable. ReadOnly passes: it postpones all."""
    try:
        yield
    except ReadOnly:
        raise
    except Unavailable as error:
        raise RetryLater(error.code, seconds=error.retry_after) from error


def _mark_failed(job: Job) -> None:
    mark_failed(job.account_id, UUID(job.payload["document"]), job.event_id)


@register_handler(
    READ,
    name="knowledge.handlers.read",
    queue="extraction",
    one_per_host=True,
    on_permanent_failure=_mark_failed,
)
def read(jobs: Sequence[Job]) -> None:
    for job in jobs:
        document, former_title = UUID(job.payload["document"]), job.payload.get("former_title", "")
        with _postpone_if_unavailable():
            parse_document(job.account_id, document, former_title)


@register_handler(
    FETCH, name="knowledge.handlers.fetch", queue="extraction", on_permanent_failure=_mark_failed
)
def fetch(jobs: Sequence[Job]) -> None:
    for job in jobs:
        document, former_title = UUID(job.payload["document"]), job.payload.get("former_title", "")
        with _postpone_if_unavailable():
            fetch_document(job.account_id, document, former_title)


@register_handler(EMBED, name="knowledge.handlers.embed", queue="embedding")
def embed(jobs: Sequence[Job]) -> None:
    for job in jobs:
        chunks = [UUID(each) for each in job.payload["chunks"]]
        try:
            failed = embed_chunks(job.account_id, job.payload["index_version"], chunks)
        except ProviderError as error:
            if isinstance(error, Faulted):
                raise  # one of these texts may be the cause: the job fails after some attempts
            raise RetryLater(error.code, seconds=PROVIDER_PAUSE, for_all=True) from error
        if failed:
            raise next(iter(failed.values()))
