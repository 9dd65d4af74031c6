"""What context does when something was kept."""

from collections.abc import Sequence
from uuid import UUID

from context.actions.archives import EMBED
from context.actions.comparisons import COMPARE, run
from context.actions.embedding import embed_archives
from context.models import ContextComparison
from kmapp.outbox.registry import Answers, Job, Later, on
from kmapp.providers.errors import Faulted, ProviderError

PROVIDER_PAUSE = 5  # seconds before an absent provider is asked again


@on(EMBED, batch=4, queue="embedding")
def embed(jobs: Sequence[Job]) -> Answers:
    archives = sorted({UUID(job.payload["archive"]) for job in jobs})
    try:
        failed = embed_archives(jobs[0].account_id, archives)
    except ProviderError as error:
        if isinstance(error, Faulted) and len(jobs) == 1:
            raise  # perhaps this very text: after some attempts a person looks at it
        # Nobody's fault here: however long the provider is away, nothing is given up.
        raise Later(error.code, seconds=PROVIDER_PAUSE, for_all=True) from error
    return {
        job.id: failed[archive]
        for job in jobs
        if (archive := UUID(job.payload["archive"])) in failed
    }


def _break_off(job: Job) -> None:
    ContextComparison.break_off(job.account_id, UUID(job.payload["comparison"]))


@on(COMPARE, gave_up=_break_off)
def compare(jobs: Sequence[Job]) -> None:
    for job in jobs:
        run(job.account_id, UUID(job.payload["comparison"]))
