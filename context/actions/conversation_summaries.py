"""Summaries of older turns, stored and reused. Memory receives the turns of each of them once.

Both hold after a rotation of `SECRET_KEY`, while the former key is in `SECRET_KEY_FALLBACKS`.
"""

from collections.abc import Sequence
from itertools import takewhile
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from context.actions.memory_flush import flush_messages
from context.actions.model_summaries import (
    SUMMARISE_CONVERSATION,
    enqueue_summaries,
    initial_reason,
)
from context.assembly.messages import Message
from context.assembly.prompt_inputs import StoredSummary
from context.assembly.stage_data import AssemblyRequest, Collected
from context.models import ContextSummary
from context.reports.call_part_digests import body_digest, encode_json, salted_digest
from kmapp.database.advisory_locks import lock_until_commit
from kmapp.security.pii import redact

MAX_CANDIDATES = 20  # summaries of one conversation, longest first


def _digest(
    request: AssemblyRequest, bodies: Sequence[UUID], language: str, secret: str = ""
) -> UUID:
    ids = encode_json(request.within.ids())
    return salted_digest(request.account_id, " ".join([language, *map(str, bodies), ids]), secret)


def _digests(
    request: AssemblyRequest, bodies: Sequence[UUID], language: str, secret: str
) -> tuple[UUID, UUID]:
    """Return the digest, and that of older releases, which had no ids."""
    old = salted_digest(request.account_id, " ".join([language, *map(str, bodies)]), secret)
    return _digest(request, bodies, language, secret), old


def _list_bodies_by_secret(
    request: AssemblyRequest, messages: Sequence[Message], bodies: Sequence[UUID]
) -> list[tuple[str, Sequence[UUID]]]:
    """Return each secret key with the digests of the messages, the present one first."""
    former = [
        (secret, [body_digest(request.account_id, message, secret) for message in messages])
        for secret in settings.SECRET_KEY_FALLBACKS
    ]
    return [(settings.SECRET_KEY, bodies), *former]


def find_summary(
    request: AssemblyRequest, messages: Sequence[Message], bodies: Sequence[UUID], language: str
) -> ContextSummary | None:
    """Return the longest stored summary of the conversation's start. Inside `acting`.

    `bodies` are the digests of the messages.
    """
    within = request.within
    if not within.conversation_id:
        return None
    rows = ContextSummary.objects.of(request.account_id).filter(**within.ids())
    rows = rows.filter(covers__lte=len(bodies)).exclude(text="")  # expired ones
    candidates = list(rows.order_by("-covers", "-created_at")[:MAX_CANDIDATES])
    by_secret = _list_bodies_by_secret(request, messages, bodies) if candidates else []
    for row in candidates:
        for secret, digests in by_secret:
            if row.digest in _digests(request, digests[: row.covers], language, secret):
                return row
    return None


def build_stored_summary(row: ContextSummary) -> StoredSummary:
    return StoredSummary(covers=row.covers, text=row.text, by=row.summary_by)


def store_summary(
    request: AssemblyRequest, collected: Collected, summary: StoredSummary
) -> dict[str, object]:
    """Store the summary, and hand the summarised messages to memory. Inside `acting`.

    Return the decision about memory. Every call of a conversation sends all of its messages, so the
    stored summaries record which of them memory has received. Messages that an earlier summary
    covers are not handed over again.

    Call it before anything that locks the chain: a concurrent call of the conversation waits here
    until this one has handed over its messages.
    """
    ids = request.within.ids()
    if not request.within.conversation_id:
        return {"action": "memory_flush", "skipped": "the call has no conversation_id"}
    lock_until_commit("\x1f".join(["conversation", str(request.account_id), *ids.values()]))
    row = _create_summary(request, collected, summary)
    if row is None:
        reason = "another call of the conversation stored this summary"
        return {"action": "memory_flush", "skipped": reason}
    messages = collected.call_input.messages[: summary.covers]
    flushed_count = _count_flushed(request, messages, row.bodies)
    if flushed_count < summary.covers:
        decision = flush_messages(request, messages[flushed_count:])
    else:
        reason = "another call of the conversation sent these messages to memory"
        decision = {"action": "memory_flush", "skipped": reason}
    if flushed_count == summary.covers or decision.get("messages"):
        row.flushed = True
        row.save(update_fields=["flushed"])
    enqueue_summaries(request.account_id, SUMMARISE_CONVERSATION, [row.pk])
    return decision


def _count_flushed(
    request: AssemblyRequest, messages: Sequence[Message], bodies: Sequence[UUID]
) -> int:
    """Return how many of the first messages were sent to memory with a summary.

    That summary may be longer, in another language, or expired and without a text.
    """
    rows = ContextSummary.objects.of(request.account_id).filter(**request.within.ids())
    flushed = rows.filter(flushed=True).order_by("-covers", "-created_at")
    candidates = list(flushed.values_list("bodies", flat=True)[:MAX_CANDIDATES])
    by_secret = _list_bodies_by_secret(request, messages, bodies) if candidates else []
    return max(
        (_count_common_start(each, digests) for each in candidates for _key, digests in by_secret),
        default=0,
    )


def _count_common_start(first: Sequence[UUID], second: Sequence[UUID]) -> int:
    pairs = zip(first, second, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _create_summary(
    request: AssemblyRequest, collected: Collected, summary: StoredSummary
) -> ContextSummary | None:
    """Return the new row, or None if another call has stored this summary.

    An expired row of this summary is replaced. Memory has already received its messages.
    """
    bodies = list(collected.bodies[: summary.covers])
    row = ContextSummary(
        account_id=request.account_id,
        **request.within.ids(),
        digest=_digest(request, bodies, collected.call_input.language),
        covers=summary.covers,
        bodies=bodies,
        text=redact(summary.text, collected.settings.account.redact)[0],
        extractive=initial_reason(),
        created_at=timezone.now(),
    )
    rows = ContextSummary.objects.of(request.account_id)
    ContextSummary.objects.bulk_create([row], ignore_conflicts=True)
    if created := rows.filter(pk=row.pk).first():
        return created
    expired, _rows = rows.filter(digest=row.digest, flushed=True, text="").delete()
    if not expired:
        return None
    row.flushed = True
    row.save(force_insert=True)
    return row
