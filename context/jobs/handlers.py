"""Outbox handlers of context."""

from collections.abc import Callable, Sequence
from uuid import UUID

from context.actions.archives import EMBED
from context.actions.comparisons import COMPARE, run_comparison
from context.actions.embeddings import embed_archives
from context.actions.model_summaries import (
    SUMMARISE_CONVERSATION,
    SUMMARISE_RESULT,
    Summarised,
    record_failure,
    summarise_conversation,
    summarise_result,
)
from context.models import ContextComparison, ContextSummary, ExtractiveReason, ToolResultArchive
from kmapp.outbox.registry import FailureHook, Job, JobErrors, RetryLater, register_handler
from kmapp.providers import chat
from kmapp.providers.errors import Faulted, ProviderError, ProviderTimeout
from kmapp.search.embed_objects import PROVIDER_PAUSE, embed_objects_of, list_job_errors


@register_handler(EMBED, name="context.handlers.embed", batch=4, queue="embedding")
def embed(jobs: Sequence[Job]) -> JobErrors:
    failed = embed_objects_of(jobs, "archive", embed_archives)
    return list_job_errors(jobs, "archive", failed)


def _fail_comparison(job: Job) -> None:
    ContextComparison.mark_failed(job.account_id, UUID(job.payload["comparison"]))


@register_handler(COMPARE, name="context.handlers.compare", on_permanent_failure=_fail_comparison)
def compare(jobs: Sequence[Job]) -> None:
    for job in jobs:
        run_comparison(job.account_id, UUID(job.payload["comparison"]))


def _record_failure_of(rows: Summarised) -> FailureHook:
    def handle_failure(job: Job) -> None:
        record_failure(job.account_id, rows, UUID(job.payload["id"]), ExtractiveReason.FAILED)

    return handle_failure


@register_handler(
    SUMMARISE_RESULT,
    name="context.handlers.sum_up_results",
    queue="extraction",
    on_permanent_failure=_record_failure_of(ToolResultArchive),
)
def summarise_results(jobs: Sequence[Job]) -> None:
    _summarise_each(jobs, ToolResultArchive, summarise_result)


@register_handler(
    SUMMARISE_CONVERSATION,
    name="context.handlers.sum_up_conversations",
    queue="extraction",
    on_permanent_failure=_record_failure_of(ContextSummary),
)
def summarise_conversations(jobs: Sequence[Job]) -> None:
    _summarise_each(jobs, ContextSummary, summarise_conversation)


def _summarise_each(
    jobs: Sequence[Job], rows: Summarised, summarise: Callable[[UUID, UUID], None]
) -> None:
    """Summarise each row. An unavailable model costs no attempt; a failing one does."""
    for job in jobs:
        pk = UUID(job.payload["id"])
        if not chat.is_configured():  # the model may have been removed
            record_failure(job.account_id, rows, pk, ExtractiveReason.NO_CHAT_MODEL)
            continue
        try:
            summarise(job.account_id, pk)
        except (Faulted, ProviderTimeout):
            raise
        except ProviderError as error:
            seconds = error.retry_after or PROVIDER_PAUSE
            raise RetryLater(error.code, seconds=seconds, for_all=True) from error
