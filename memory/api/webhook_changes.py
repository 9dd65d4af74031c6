"""Changes of memories that webhooks report."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, Subquery
from django.utils.translation import gettext_lazy as _

from kmapp.notifications.webhooks.change_registry import (
    ChangeSource,
    ReportedChange,
    register_source,
)
from memory.actions.follow_up_jobs import WEBHOOK_SOURCE
from memory.models import ErasedEntry, MemoryEntry, MemoryVersion
from memory.models.entries import OWNER_IDS

ADDED_EVENT, UPDATED_EVENT = "memory.added", "memory.updated"
DELETED_EVENT, PROPOSED_EVENT = "memory.deleted", "memory.proposed"
State = Mapping[str, Any]
ACTIVE, AWAITING_REVIEW = MemoryEntry.Status.ACTIVE.value, MemoryEntry.Status.PROPOSED.value
# Changes of other columns, such as ratings and pins, are not reported.
REPORTED_FIELDS = ("title", "content", "kind", "slots", "tags", "entities", "expires_at")
ID_FIELDS = (*OWNER_IDS, "client_id")


def load_changes(account_id: UUID, references: Sequence[UUID]) -> dict[UUID, ReportedChange]:
    """Return the changes that these versions and erasures are."""
    before = MemoryVersion.objects.of(account_id).filter(
        entry=OuterRef("entry"), version=OuterRef("version") - 1
    )
    versions = MemoryVersion.objects.of(account_id).filter(pk__in=references)
    changes = {}
    for version in versions.annotate(previous=Subquery(before.values("state")[:1])):
        if event_type := find_event_type(version.previous, version.state, version.created_at):
            data = {
                "id": version.entry_id,
                **_serialize_state(version.state),
                "version": version.version,
            }
            changes[version.pk] = ReportedChange(
                event_type=event_type, created_at=version.created_at, data=data
            )
    erased = ErasedEntry.objects.of(account_id).filter(pk__in=references)
    for pk, moment in erased.values_list("pk", "erased_at"):
        changes[pk] = ReportedChange(
            event_type=DELETED_EVENT, created_at=moment, data={"id": pk, "text": None}
        )
    return changes


def find_event_type(before: State | None, after: State, moment: datetime) -> str | None:
    """Return what a change at this time means to those who recall memories; None if nothing."""
    was_active = before is not None and before.get("status") == ACTIVE
    is_active = after.get("status") == ACTIVE
    if is_active != was_active:
        return ADDED_EVENT if is_active else DELETED_EVENT
    if before is None and after.get("status") == AWAITING_REVIEW:
        return PROPOSED_EVENT
    if (
        is_active
        and before
        and any(before.get(name) != after.get(name) for name in REPORTED_FIELDS)
    ):
        was_expired, is_expired = _is_expired(before, moment), _is_expired(after, moment)
        if was_expired == is_expired:
            return UPDATED_EVENT
        return DELETED_EVENT if is_expired else ADDED_EVENT
    return None


def _is_expired(state: State, moment: datetime) -> bool:
    expires_at = state.get("expires_at")
    return isinstance(expires_at, str) and datetime.fromisoformat(expires_at) <= moment


def _serialize_state(state: State) -> dict[str, Any]:
    return {
        "text": state.get("content"),
        "title": state.get("title"),
        "kind": state.get("kind"),
        "status": state.get("status"),
        "visibility": state.get("visibility"),
        **{name: state.get(name) for name in ID_FIELDS},
        "tags": state.get("tags", []),
        "metadata": state.get("slots", {}),
        "expires_at": state.get("expires_at"),
    }


register_source(
    ChangeSource(
        name=WEBHOOK_SOURCE,
        event_types={
            ADDED_EVENT: _("A memory can now be recalled"),
            UPDATED_EVENT: _("A memory was changed"),
            DELETED_EVENT: _("A memory can no longer be recalled"),
            PROPOSED_EVENT: _("A memory needs review"),
        },
        load=load_changes,
    )
)
