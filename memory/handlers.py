"""What memory does when something was remembered."""

from collections.abc import Sequence
from uuid import UUID

from kmapp.outbox.registry import Answers, Job, on
from memory.actions.embedding import embed_entries
from memory.actions.order import put_in_order
from memory.actions.owed import EMBED, ORDER


@on(EMBED, batch=32, queue="embedding")
def embed(jobs: Sequence[Job]) -> Answers:
    failed = embed_entries(
        jobs[0].account_id, sorted({UUID(job.payload["entry"]) for job in jobs})
    )
    return {
        job.id: failed[entry]
        for job in jobs
        if (entry := UUID(job.payload["entry"])) in failed
    }


@on(ORDER)
def order(jobs: Sequence[Job]) -> None:
    for job in jobs:
        ids = [UUID(each) for each in job.payload["entries"]]
        put_in_order(job.account_id, ids, job.event_id)
