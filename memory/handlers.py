"""What memory does when something was remembered."""

from collections.abc import Sequence
from uuid import UUID

from kmapp.outbox.registry import Answers, Job, Later, on
from kmapp.providers.errors import Faulted, ProviderError
from memory.actions.embedding import embed_entries
from memory.actions.order import put_in_order
from memory.actions.owed import EMBED, ORDER

PROVIDER_PAUSE = 5  # seconds before an absent provider is asked again


@on(EMBED, batch=32, queue="embedding")
def embed(jobs: Sequence[Job]) -> Answers:
    entries = sorted({UUID(job.payload["entry"]) for job in jobs})
    try:
        failed = embed_entries(jobs[0].account_id, entries)
    except ProviderError as error:
        if isinstance(error, Faulted) and len(jobs) == 1:
            raise  # perhaps this very text: after some attempts a person looks at it
        # Nobody's fault here: however long the provider is away, nothing is given up.
        raise Later(error.code, seconds=PROVIDER_PAUSE, for_all=True) from error
    return {
        job.id: failed[entry] for job in jobs if (entry := UUID(job.payload["entry"])) in failed
    }


@on(ORDER)
def order(jobs: Sequence[Job]) -> None:
    for job in jobs:
        ids = [UUID(each) for each in job.payload["entries"]]
        put_in_order(job.account_id, ids, job.event_id)
