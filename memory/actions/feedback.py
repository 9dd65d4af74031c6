"""Ratings of memories: useful ones rank higher in recall, wrong ones lower."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models.fields.json import KT
from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.database.ids import uuid7
from kmapp.ledger.actions import recording
from kmapp.ledger.models import Seal
from memory.actions.entry_locks import lock_entry, wrong_status_error
from memory.actions.record_versions import update_entry
from memory.actions.review import Decision
from memory.models import MemoryEntry, MemoryRating, MemoryVersion

Outcome = MemoryRating.Outcome
Status = MemoryEntry.Status
# The change of salience by outcome. Salience stays between 0 and 1.
STEPS: Mapping[str, float] = {
    Outcome.POSITIVE: 0.1,
    Outcome.NEUTRAL: 0.0,
    Outcome.NEGATIVE: -0.15,
    Outcome.VERY_NEGATIVE: -0.4,
}
DECIMALS = 4  # of a salience, so that 0.1 added three times is 0.3
RATEABLE = {Status.ACTIVE, Status.SUPERSEDED}  # statuses in which agents could recall a memory


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingResult:
    rating: MemoryRating
    entry: MemoryEntry
    changed: bool


def rate_entry(decision: Decision, outcome: str, *, used_in: str = "") -> RatingResult:
    """Rate a memory. There is one rating per rater and run: another one replaces it."""
    entry = lock_entry(decision.account_id, decision.entry_id, decision.version)
    if entry.status not in RATEABLE:
        raise wrong_status_error(entry, _("Only active and superseded memories can be rated."))
    key = {"entry_id": entry.pk, "rater": str(decision.actor), "used_in": used_in}
    existing = MemoryRating.objects.of(decision.account_id).filter(**key).first()
    rating = existing or MemoryRating(id=uuid7(), account_id=decision.account_id, outcome="", **key)
    before = rating.outcome  # empty for a new rating
    if before == outcome:
        return RatingResult(rating=rating, entry=entry, changed=False)
    delta = STEPS[outcome] - (_sum_changes(rating) if before else 0.0)
    salience = round(min(1.0, max(0.0, entry.salience + delta)), DECIMALS)
    reason = decision.redacted_reason
    with recording(decision.account_id, decision.actor, reason=reason) as commit:
        rating.outcome, rating.reason = outcome, reason
        rating.created_at, rating.commit_id = timezone.now(), commit.id
        rating.save(force_insert=not before)
        commit.add(rating, "UPDATE" if before else "ADD")
        # A superseded memory gets no version, because only the latest change can be undone: the
        # approval that superseded it could not be.
        if salience != entry.salience and entry.status == Status.ACTIVE:
            update_entry(entry, MemoryVersion.Event.RATE, {"salience": salience}, commit)
    return RatingResult(rating=rating, entry=entry, changed=True)


def _sum_changes(rating: MemoryRating) -> float:
    """Return how much the rating, with those that it replaced, has changed the salience.

    That is less than the step of its outcome if a limit of the salience was reached.
    """
    seals = Seal.objects.of(rating.account_id).filter(
        object_type=rating._meta.label_lower, object_id=rating.pk
    )
    versions = MemoryVersion.objects.of(rating.account_id).filter(entry_id=rating.entry_id)
    numbers = versions.filter(
        event=MemoryVersion.Event.RATE, commit_id__in=seals.values("commit_id")
    ).values_list("version", flat=True)
    pairs = [(number - 1, number) for number in numbers]
    rows = versions.filter(version__in={number for pair in pairs for number in pair})
    texts = rows.annotate(text=KT("state__salience")).values_list("version", "text")
    salience = {number: float(text) for number, text in texts}
    return sum(salience[after] - salience[before] for before, after in pairs if before in salience)
