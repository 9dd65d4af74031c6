"""Outbox handlers of memory."""

from collections.abc import Sequence
from time import time
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM, Actor
from kmapp.errors import Conflict, OverBudget
from kmapp.notifications.kernel_notifications import report_refusal
from kmapp.outbox.registry import Job, JobErrors, PermanentFailure, RetryLater, register_handler
from kmapp.providers import chat
from kmapp.providers.errors import Faulted, ProviderError, ProviderTimeout, Refused
from kmapp.search.embed_objects import (
    PROVIDER_PAUSE,
    embed_objects_of,
    list_job_errors,
    list_objects_of,
)
from memory.actions import bulk_review
from memory.actions.derived_edges import derive_edges, derive_run_order
from memory.actions.embeddings import embed_contexts, embed_entries, enqueue_contexts
from memory.actions.extraction import run_extraction
from memory.actions.extraction_requests import EXTRACT, NO_CHAT_MODEL
from memory.actions.follow_up_jobs import (
    BULK,
    BULK_UNDO,
    EMBED,
    EMBED_CONTEXT,
    ORDER,
    RELATE,
    TOPICS,
    TRIAGE,
    enqueue_edge_derivation,
)
from memory.actions.learn_ranking import mark_failed, run_learning
from memory.actions.model_requests import InvalidAnswer
from memory.actions.proposal_findings import enqueue_triage_of_embedded, triage_entries
from memory.actions.quotas import TOO_MANY
from memory.actions.rankings import LEARN
from memory.actions.topic_editing import refresh_suggestions
from memory.actions.topic_growth import grow_topics
from memory.models import Extraction

QUEUE_PAUSE = 3600  # seconds until a key with too many open proposals is retried
TOPICS_INTERVAL = 600  # seconds between runs of topic growth


@register_handler(EMBED, name="memory.handlers.embed", batch=32, queue="embedding")
def embed(jobs: Sequence[Job]) -> JobErrors:
    account_id, cause = jobs[0].account_id, jobs[0].event_id
    entries = list_objects_of(jobs, "entry")
    with acting(account_id):  # first, so that some vector is pending until all are stored
        enqueue_contexts(account_id, entries)
    failed = embed_objects_of(jobs, "entry", embed_entries)
    done = [entry for entry in entries if entry not in failed]
    if done:  # not for failed ones: a job key can be published only once
        with acting(account_id):
            enqueue_triage_of_embedded(account_id, done, cause)
            enqueue_edge_derivation(account_id, done, cause)
    return list_job_errors(jobs, "entry", failed)


@register_handler(EMBED_CONTEXT, name="memory.handlers.embed_context", batch=32, queue="embedding")
def embed_context(jobs: Sequence[Job]) -> JobErrors:
    return list_job_errors(jobs, "entry", embed_objects_of(jobs, "entry", embed_contexts))


@register_handler(ORDER, name="memory.handlers.order")
def order(jobs: Sequence[Job]) -> None:
    for job in jobs:
        derive_run_order(job.account_id, [UUID(each) for each in job.payload["entries"]])


@register_handler(EXTRACT, name="memory.handlers.extract_memories", queue="extraction")
def extract_memories(jobs: Sequence[Job]) -> None:
    """Extract memories. A bad answer is final; an unavailable model uses up no attempt."""
    if not chat.is_configured():
        raise RetryLater(NO_CHAT_MODEL, for_all=True)
    for job in jobs:
        try:
            run_extraction(job.account_id, UUID(job.payload["extraction"]))
        except (InvalidAnswer, Refused) as error:
            raise PermanentFailure(str(error)) from error
        except (Faulted, ProviderTimeout):
            raise
        except ProviderError as error:
            seconds = error.retry_after or PROVIDER_PAUSE
            raise RetryLater(error.code, seconds=seconds, for_all=True) from error
        except (Conflict, OverBudget) as error:
            _report_refusal(job, error.code)
            if isinstance(error, Conflict) and error.code != TOO_MANY:
                raise  # a memory changed meanwhile; each attempt asks the model to decide again
            seconds = error.retry_after if isinstance(error, OverBudget) else QUEUE_PAUSE
            raise RetryLater(error.code, seconds=seconds) from error


def _report_refusal(job: Job, code: str) -> None:
    """Notify people, as for a request of the key that requested the extraction."""
    with acting(job.account_id):
        row = Extraction.objects.of(job.account_id).get(pk=job.payload["extraction"])
    report_refusal(job.account_id, Actor.parse(row.actor), code)


@register_handler(TRIAGE, name="memory.handlers.compare", batch=16, queue="clustering")
def compare(jobs: Sequence[Job]) -> None:
    triage_entries(jobs[0].account_id, list_objects_of(jobs, "entry"))


@register_handler(RELATE, name="memory.handlers.relate_memories", queue="clustering")
def relate_memories(jobs: Sequence[Job]) -> None:
    for job in jobs:
        derive_edges(job.account_id, [UUID(each) for each in job.payload["entries"]])


@register_handler(
    TOPICS, name="memory.handlers.let_topics_grow", batch=100, queue="clustering", one_per_host=True
)
def grow_account_topics(jobs: Sequence[Job]) -> None:
    """Grow topics once for all jobs of the batch."""
    run = grow_topics(jobs[0].account_id, SYSTEM, turn=int(time()) // TOPICS_INTERVAL)
    examined = None if run.is_complete else run.examined
    refresh_suggestions(jobs[0].account_id, run.suggestions, examined=examined)


@register_handler(
    LEARN,
    name="memory.handlers.learn_ranking",
    queue="clustering",
    on_permanent_failure=lambda job: mark_failed(job.account_id, UUID(job.payload["ranking"])),
)
def learn_ranking(jobs: Sequence[Job]) -> None:
    for job in jobs:
        try:
            run_learning(job.account_id, UUID(job.payload["ranking"]))
        except ProviderError as error:
            raise RetryLater(error.code, seconds=PROVIDER_PAUSE) from error


@register_handler(BULK, name="memory.handlers.decide_part")
def decide_part(jobs: Sequence[Job]) -> None:
    for job in jobs:
        bulk_review.run_part(job.account_id, UUID(job.payload["part"]))


@register_handler(BULK_UNDO, name="memory.handlers.undo_part")
def undo_part(jobs: Sequence[Job]) -> None:
    for job in jobs:
        bulk_review.undo_part(job.account_id, UUID(job.payload["part"]))
