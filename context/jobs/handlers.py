"""What context does when something was kept."""

from collections.abc import Callable, Sequence
from uuid import UUID

from context.actions.archives import EMBED
from context.actions.comparisons import COMPARE, run
from context.actions.embeddings import embed_archives
from context.actions.model_summaries import (
    RETELL_CONVERSATION,
    RETELL_RESULT,
    Summed,
    retell_conversation,
    retell_result,
    stays_extractive,
)
from context.models import ContextComparison, ContextSummary, Extractive, ToolResultArchive
from kmapp.outbox.registry import FailureHook, Job, JobErrors, RetryLater, on
from kmapp.providers import chat
from kmapp.providers.errors import Faulted, ProviderError, ProviderTimeout

PROVIDER_PAUSE = 5  # seconds before an absent provider is asked again


@on(EMBED, name="context.handlers.embed", batch=4, queue="embedding")
def embed(jobs: Sequence[Job]) -> JobErrors:
    archives = sorted({UUID(job.payload["archive"]) for job in jobs})
    try:
        failed = embed_archives(jobs[0].account_id, archives)
    except ProviderError as error:
        if isinstance(error, Faulted) and len(jobs) == 1:
            raise  # perhaps this very text: after some attempts a person looks at it
        # Nobody's fault here: however long the provider is away, nothing is given up.
        raise RetryLater(error.code, seconds=PROVIDER_PAUSE, for_all=True) from error
    return {
        job.id: failed[archive]
        for job in jobs
        if (archive := UUID(job.payload["archive"])) in failed
    }


def _break_off(job: Job) -> None:
    ContextComparison.break_off(job.account_id, UUID(job.payload["comparison"]))


@on(COMPARE, name="context.handlers.compare", on_permanent_failure=_break_off)
def compare(jobs: Sequence[Job]) -> None:
    for job in jobs:
        run(job.account_id, UUID(job.payload["comparison"]))


def _failed(rows: Summed) -> FailureHook:
    def keep_the_first(job: Job) -> None:
        stays_extractive(job.account_id, rows, UUID(job.payload["id"]), Extractive.FAILED)

    return keep_the_first


@on(
    RETELL_RESULT,
    name="context.handlers.sum_up_results",
    queue="extraction",
    on_permanent_failure=_failed(ToolResultArchive),
)
def sum_up_results(jobs: Sequence[Job]) -> None:
    _sum_up(jobs, ToolResultArchive, retell_result)


@on(
    RETELL_CONVERSATION,
    name="context.handlers.sum_up_conversations",
    queue="extraction",
    on_permanent_failure=_failed(ContextSummary),
)
def sum_up_conversations(jobs: Sequence[Job]) -> None:
    _sum_up(jobs, ContextSummary, retell_conversation)


def _sum_up(jobs: Sequence[Job], rows: Summed, retell: Callable[[UUID, UUID], None]) -> None:
    """A model that is away costs nothing; one that breaks, an attempt."""
    for job in jobs:
        pk = UUID(job.payload["id"])
        if not chat.configured():  # any more
            stays_extractive(job.account_id, rows, pk, Extractive.NO_CHAT_MODEL)
            continue
        try:
            retell(job.account_id, pk)
        except (Faulted, ProviderTimeout):
            raise
        except ProviderError as error:
            seconds = error.retry_after or PROVIDER_PAUSE
            raise RetryLater(error.code, seconds=seconds, for_all=True) from error
