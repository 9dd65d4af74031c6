"""Forgetting many memories: counted first, then done, in parts that can be taken back."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.utils.translation import gettext as _

from kmapp.accounts.actors import Actor
from kmapp.errors import Invalid, NotFound
from memory.actions import bulk_review
from memory.actions.bulk_review import EntryVersion, StartedRun
from memory.actions.confirmation_tickets import Confirmation
from memory.actions.entries import needs_review
from memory.actions.review import FORGETTABLE
from memory.models import BulkRun, EntryQuerySet, MemoryEntry, MemorySettings

MAX_ENTRIES = 50_000  # of one run
OPERATION = "memory.forget"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetPreview:
    """What would be forgotten, counted. Without any there is no ticket."""

    memories: int
    ticket: str


def preview_forget(account_id: UUID, rows: EntryQuerySet, actor: Actor) -> ForgetPreview:
    """Count what of these can be forgotten. Changes nothing."""
    chosen = _chosen(rows)
    counted = _counted(account_id, actor, chosen)
    return ForgetPreview(memories=len(chosen), ticket=counted.ticket if chosen else "")


def forget_entries(
    account_id: UUID, rows: EntryQuerySet, actor: Actor, *, ticket: str, reason: str = ""
) -> StartedRun:
    """Forget what was counted: at once, or by workers where they are many."""
    chosen = _chosen(rows)
    _counted(account_id, actor, chosen).verify(ticket)
    if not chosen:
        raise NotFound(_("Memory not found."))
    return bulk_review.start_run(account_id, actor, BulkRun.Operation.FORGET, chosen, reason)


def requiring_review(account_id: UUID, actor: Actor, rows: EntryQuerySet) -> EntryQuerySet:
    """Those of these that everyone is told, and that only a person takes from everyone."""
    settings, everyones = (
        MemorySettings.objects.get_or_default(account_id),
        MemoryEntry.Visibility.ACCOUNT,
    )
    kinds = [
        kind for kind in MemoryEntry.Kind.values if needs_review(settings, actor, everyones, kind)
    ]
    return rows.filter(status=MemoryEntry.Status.ACTIVE, visibility=everyones, kind__in=kinds)


def _chosen(rows: EntryQuerySet) -> list[EntryVersion]:
    forgettable = rows.filter(status__in=FORGETTABLE).order_by("pk")
    chosen = list(forgettable.values_list("pk", "version")[: MAX_ENTRIES + 1])
    if len(chosen) > MAX_ENTRIES:
        raise Invalid(
            _(
                "More than %(most)d memories are selected. Narrow the selection and forget them "
                "in batches."
            )
            % {"most": MAX_ENTRIES},
            code="too_many",
        )
    return chosen


def _counted(account_id: UUID, actor: Actor, chosen: Sequence[EntryVersion]) -> Confirmation:
    ids = [pk for pk, _version in chosen]
    return Confirmation(operation=OPERATION, account_id=account_id, actor=actor, ids=ids)
