"""Locks of memories, and the errors of those that have changed meanwhile."""

from collections.abc import Collection, Iterable
from uuid import UUID

from django.utils.translation import gettext as _

from kmapp.database.raw_sql import fetch_all
from kmapp.errors import Conflict, Gone, NotFound
from memory.models import ErasedEntry, MemoryEntry


def lock_entry(account_id: UUID, entry_id: UUID, version: int | None = None) -> MemoryEntry:
    """Lock an entry until the transaction ends; with `version`, only if that is its version."""
    rows = MemoryEntry.objects.of(account_id).select_for_update(no_key=True, of=("self",))
    entry = rows.with_verify_on_read(account_id).filter(pk=entry_id).first()
    if entry is None:
        if ErasedEntry.objects.of(account_id).filter(pk=entry_id).exists():
            raise Gone(_("This memory was erased."))
        raise NotFound(_("Memory not found."))
    if version is not None and entry.version != version:
        raise stale_version_error(entry)
    return entry


def lock_entries(account_id: UUID, ids: Iterable[UUID]) -> set[UUID]:
    """Lock entries in the order of their ids, so that two transactions cannot deadlock.

    Return the ids of those that exist.
    """
    rows = MemoryEntry.objects.of(account_id).filter(pk__in=set(ids)).order_by("pk")
    return set(rows.select_for_update(no_key=True).values_list("pk", flat=True))


_LOCK_AGAINST_ERASURE = f"""
SELECT id FROM {MemoryEntry._meta.db_table}
WHERE account_id = %s AND id = ANY (%s::uuid[]) ORDER BY id FOR KEY SHARE
"""  # noqa: S608 - the name of a table


def lock_against_erasure(account_id: UUID, ids: Collection[UUID]) -> set[UUID]:
    """Prevent the erasure of entries until the transaction ends; others can still change them.

    Call it before rows that refer to these entries are sealed: their foreign keys are checked at
    the end of the transaction only, which then holds the lock of the chain. Return the ids of those
    that exist.
    """
    if not ids:
        return set()
    return {pk for (pk,) in fetch_all(_LOCK_AGAINST_ERASURE, [account_id, [*ids]])}


def stale_version_error(entry: MemoryEntry) -> Conflict:
    return Conflict(
        _("Someone else changed this memory. It is now at version %(n)d.") % {"n": entry.version},
        code="stale_version",
        details={"version": entry.version},
    )


def wrong_status_error(entry: MemoryEntry, advice: str) -> Conflict:
    return Conflict(
        _("This memory is %(status)s. %(advice)s")
        % {"status": entry.get_status_display(), "advice": advice},
        code="wrong_status",
        details={"status": entry.status, "version": entry.version},
    )
