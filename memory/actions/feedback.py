"""Rating memories: what proved useful is found more easily, what proved wrong less."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils import timezone

from kmapp.database.ids import uuid7
from kmapp.errors import Conflict
from kmapp.ledger.actions import recording
from memory.actions.review import Decision
from memory.actions.versions import lock_entry, update_entry
from memory.models import MemoryEntry, MemoryRating, MemoryVersion

Outcome = MemoryRating.Outcome
Status = MemoryEntry.Status
# How far each outcome moves a memory's salience, which stays within 0 and 1.
STEPS: Mapping[str, float] = {
    Outcome.POSITIVE: 0.1,
    Outcome.NEUTRAL: 0.0,
    Outcome.NEGATIVE: -0.15,
    Outcome.VERY_NEGATIVE: -0.4,
}
PLACES = 4  # of a salience: 0.1 added three times is 0.3
RATED = {Status.ACTIVE, Status.SUPERSEDED}  # what somebody was told at some time


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingResult:
    """A rating, the memory as it is now, and whether anything changed."""

    rating: MemoryRating
    entry: MemoryEntry
    changed: bool


def rate_entry(decision: Decision, outcome: str, *, used_in: str = "") -> RatingResult:
    """Say how a memory served. Each rater counts once for each run: again replaces what was said.

    The same outcome twice changes nothing.
    """
    entry = lock_entry(decision.account_id, decision.entry_id, decision.version)
    if entry.status not in RATED:
        raise Conflict(
            f"This memory is {entry.get_status_display()}: nobody is told it.",
            code="wrong_status",
            details={"status": entry.status, "version": entry.version},
        )
    rating = _rating(decision, entry, used_in)
    before = rating.outcome
    if before == outcome:
        return RatingResult(rating=rating, entry=entry, changed=False)
    moved = STEPS[outcome] - (STEPS[before] if before else 0.0)
    salience = round(min(1.0, max(0.0, entry.salience + moved)), PLACES)
    reason = decision.redacted_reason
    with recording(decision.account_id, decision.actor, reason=reason) as commit:
        rating.outcome, rating.reason = outcome, reason
        rating.created_at, rating.commit_id = timezone.now(), commit.id
        rating.save(force_insert=not before)
        commit.add(rating, "UPDATE" if before else "ADD")
        if salience != entry.salience:
            update_entry(
                entry,
                actor=decision.actor,
                event=MemoryVersion.Event.RATE,
                reason=reason,
                values={"salience": salience},
                commit=commit,
            )
    return RatingResult(rating=rating, entry=entry, changed=True)


def _rating(decision: Decision, entry: MemoryEntry, used_in: str) -> MemoryRating:
    """Return this rater's existing rating of the memory; the entry is locked."""
    named = {"entry_id": entry.pk, "rater": str(decision.actor), "used_in": used_in}
    existing = MemoryRating.objects.of(decision.account_id).filter(**named).first()
    return existing or MemoryRating(id=uuid7(), account_id=decision.account_id, outcome="", **named)
