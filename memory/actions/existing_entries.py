"""Entries of a batch that exist already, by id or by identical text."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import Q

from kmapp.accounts.actors import Actor
from kmapp.accounts.pii_redaction import redact_text
from kmapp.database.psycopg_cursors import prepared_cursor
from kmapp.errors import Conflict, Gone
from memory.models import ErasedEntry, MemoryEntry, MemorySettings
from memory.models.entry_input import NewEntry

Status = MemoryEntry.Status


def find_existing(
    account_id: UUID, drafts: Sequence[NewEntry], keys: Sequence[UUID]
) -> dict[UUID, MemoryEntry]:
    """Return existing entries of this batch by key. Raise Conflict if one has another body."""
    if not any(draft.client_id or draft.id for draft in drafts):
        return {}  # their ids are new
    if not _is_any_id_used(account_id, drafts, keys):
        return {}
    tombstones = ErasedEntry.objects.of(account_id).filter(pk__in=keys)
    if erased := set(tombstones.values_list("pk", flat=True)):
        raise Gone(
            "An entry with this client_id was erased, and the ID stays reserved. Use another one.",
            code="client_id_erased",
            issues=[
                {"path": f"nodes.{i}.client_id", "message": "erased"}
                for i, key in enumerate(keys)
                if key in erased
            ],
        )
    existing = _written_before(account_id, drafts, keys)
    other = [
        i
        for i, (key, draft) in enumerate(zip(keys, drafts, strict=True))
        if key in existing and not draft.matches_digest(existing[key].written_sha256)
    ]
    if other:
        raise Conflict(
            "An entry with this client_id exists with another body: update it, or use another id.",
            code="client_id_conflict",
            issues=[
                {"path": f"nodes.{i}.client_id", "message": f"exists as {existing[keys[i]].pk}"}
                for i in other
            ],
        )
    return existing


# Raw SQL, because Django would take longer to build this query than PostgreSQL to run it.
_IS_ANY_ID_USED = """
SELECT EXISTS (SELECT FROM memory_erasedentry WHERE account_id = %(account)s AND id = ANY (%(ids)s))
  OR EXISTS (SELECT FROM memory_memoryentry WHERE account_id = %(account)s AND id = ANY (%(ids)s))
  OR EXISTS (SELECT FROM memory_memoryentry
    WHERE account_id = %(account)s AND scope = ANY (%(scopes)s) AND client_id = ANY (%(names)s))
"""


def _is_any_id_used(account_id: UUID, drafts: Sequence[NewEntry], keys: Sequence[UUID]) -> bool:
    with prepared_cursor() as cursor:
        cursor.execute(
            _IS_ANY_ID_USED,
            {
                "account": account_id,
                "ids": list(keys),
                "scopes": list({draft.scope for draft in drafts}),
                "names": [draft.client_id for draft in drafts if draft.client_id],
            },
        )
        [[is_used]] = cursor.fetchall()
    return bool(is_used)


def _written_before(
    account_id: UUID, drafts: Sequence[NewEntry], keys: Sequence[UUID]
) -> dict[UUID, MemoryEntry]:
    """Return entries by key. Imported entries have other ids, but the same client ids."""
    names = {(draft.scope, draft.client_id): key for draft, key in zip(drafts, keys, strict=True)}
    named = Q(
        scope__in={scope for scope, _ in names}, client_id__in={name for _, name in names if name}
    )
    rows = MemoryEntry.objects.of(account_id).filter(Q(pk__in=keys) | named)
    rows = rows.with_verify_on_read(account_id)
    requested_ids = set(keys)
    matches = {
        row.pk if row.pk in requested_ids else names.get((row.scope, row.client_id or "")): row
        for row in rows
    }
    # Two scopes may use one client id, of which the batch names one.
    return {key: row for key, row in matches.items() if key}


def share_keys(drafts: Sequence[NewEntry], keys: Sequence[UUID]) -> list[UUID]:
    """Return the keys of a batch. Identical drafts without ids get the key of the first of them."""
    first_keys: dict[str, UUID] = {}
    return [
        key if draft.client_id or draft.id else first_keys.setdefault(draft.sha256(), key)
        for key, draft in zip(keys, drafts, strict=True)
    ]


def find_identical(
    settings: MemorySettings, actor: Actor, drafts: Sequence[NewEntry], keys: Sequence[UUID]
) -> dict[UUID, MemoryEntry]:
    """Return current memories with the same body and owner, by key, for drafts without ids.

    Identical drafts have the same key: see `share_keys`.
    """
    nameless = {
        draft.sha256(): (key, redact_text(draft.text, settings.account.redact))
        for key, draft in zip(keys, drafts, strict=True)
        if not draft.client_id and not draft.id
    }
    rows = MemoryEntry.objects.of(settings.account_id).filter(written_sha256__in=nameless)
    # Proposals of other keys must not be revealed.
    visible = rows.current() | rows.filter(status=Status.PROPOSED, created_by=str(actor))
    matches = {}
    ordered = visible.with_verify_on_read(settings.account_id).order_by("-pk")
    for row in ordered:  # the oldest one wins, so that the result is stable
        key, text = nameless[row.written_sha256]
        if row.content == text:  # unchanged since
            matches[key] = row
    return matches
