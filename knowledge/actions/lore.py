"""Actions on lore entries; each change is a commit."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.actors import Actor
from kmapp.accounts.erasure_registry import erase_copies
from kmapp.api.models import IdempotentRequest
from kmapp.database.ids import uuid7
from kmapp.errors import Conflict, Invalid, NotFound
from kmapp.ledger.actions import Recording, recording
from kmapp.ledger.read_verification import require_sealed
from knowledge.actions.sources import NewSource, ensure_source, find_source, lock_source
from knowledge.lore.lorebook_evaluation import InvalidPattern, compile_pattern
from knowledge.lore.sillytavern import KEY_LENGTH
from knowledge.models import KnowledgeSource, LorebookEntry
from knowledge.retrieval.citations import find_gone_error

MAX_KEYS = 100
MAX_ENTRIES = 2_000  # of one lorebook


@transaction.atomic
def create_lorebook(
    account_id: UUID, actor: Actor, source_input: NewSource, entries: Sequence[Mapping[str, Any]]
) -> KnowledgeSource:
    """Create a lorebook with its entries, or nothing if one is invalid. Inside `acting`.

    Raise Conflict with the code `name_taken` if another source has the name.
    """
    if find_source(account_id, source_input.name):
        raise _build_name_conflict(source_input.name)
    with recording(account_id, actor) as commit:
        source = ensure_source(account_id, actor, source_input, commit=commit)
        if not source.is_new:  # another transaction created it after the lookup
            raise _build_name_conflict(source.name)
        add_entries(source, actor, entries, commit=commit)
    return source


def _build_name_conflict(name: str) -> Conflict:
    return Conflict(
        _("A lorebook or another source is already called “%(name)s”. Choose another name.")
        % {"name": name},
        code="name_taken",
    )


def add_entries(
    source: KnowledgeSource,
    actor: Actor,
    entries: Sequence[Mapping[str, Any]],
    *,
    commit: Recording | None = None,
) -> list[LorebookEntry]:
    """Write entries of a lorebook in one commit, or in that of a larger change. Inside `acting`."""
    if source.kind != KnowledgeSource.Kind.LOREBOOK:
        raise Conflict(
            _("“%(name)s” is not a lorebook. Choose a lorebook.") % {"name": source.name}
        )
    # An erasure of the source takes the same lock, so it erases these entries as well.
    if lock_source(source.account_id, source.pk) is None:
        raise find_gone_error(source.account_id, source.pk) or NotFound("Source not found.")
    existing = LorebookEntry.objects.of(source.account_id).filter(source=source).count()
    if existing + len(entries) > MAX_ENTRIES:
        raise Invalid(
            _(
                "A lorebook can have at most %(n)d entries. Erase some entries or use another "
                "lorebook."
            )
            % {"n": MAX_ENTRIES}
        )
    now = timezone.now()
    with recording(source.account_id, actor, within=commit) as own:
        rows = [
            LorebookEntry(
                id=uuid7(),
                account_id=source.account_id,
                commit_id=own.id,
                source=source,
                created_by=str(actor),
                created_at=now,
                updated_at=now,
                **entry,
            )
            for entry in entries
        ]
        for i, row in enumerate(rows):
            _check_entry(row, f"entries.{i}.")
        LorebookEntry.objects.bulk_create(rows, batch_size=500)
        own.add_all(rows, "ADD")
    return rows


def change_entry(
    account_id: UUID, pk: UUID, actor: Actor, values: Mapping[str, Any], *, version: int
) -> LorebookEntry:
    """Change an entry if its version is still the given one. Use inside `acting`."""
    row = _lock_entry(account_id, pk)
    require_sealed(
        [row],
        _(
            "This entry differs from its sealed state, so it cannot be changed. Restore its row in "
            "the database, or erase the entry."
        ),
    )
    if row.version != version:
        raise Conflict(
            _("Someone else changed this entry. Reload the page and try again."),
            code="stale_version",
        )
    changed = {name: value for name, value in values.items() if getattr(row, name) != value}
    if not changed:
        return row
    for name, value in changed.items():
        setattr(row, name, value)
    _check_entry(row)
    with recording(account_id, actor) as commit:
        row.version += 1
        row.updated_at, row.commit_id = timezone.now(), commit.id
        row.save(update_fields=[*changed, "version", "updated_at", "commit"])
        commit.add(row, "UPDATE")
    return row


def erase_entry(account_id: UUID, pk: UUID, actor: Actor) -> None:
    row = _lock_entry(account_id, pk)
    with recording(account_id, actor) as commit:
        commit.erase(row._meta.label_lower, row.pk)
        erase_copies(account_id, [row.pk])
        IdempotentRequest.objects.of(account_id).naming([row.pk]).erase_responses()
        row.delete()


def _lock_entry(account_id: UUID, pk: UUID) -> LorebookEntry:
    rows = LorebookEntry.objects.of(account_id).select_for_update(no_key=True)
    row = rows.with_verify_on_read(account_id).filter(pk=pk).first()
    if row is None:
        raise NotFound(_("This entry does not exist. It may have been erased."))
    return row


def _check_entry(row: LorebookEntry, path: str = "") -> None:
    """Refuse entries that could never fire and invalid patterns."""
    issues = []
    if not row.content.strip():
        issues.append({"path": f"{path}content", "message": _("Enter the text of the entry")})
    if not row.keys and not row.constant:
        issues.append(
            {
                "path": f"{path}keys",
                "message": _("Enter at least one key, or set the entry to always fire"),
            }
        )
    for name in ("keys", "secondary_keys"):
        keys = getattr(row, name)
        if len(keys) > MAX_KEYS:
            issues.append({"path": f"{path}{name}", "message": _("Too many keys: remove some")})
        issues += [
            {"path": f"{path}{name}.{i}", "message": reason}
            for i, key in enumerate(keys)
            if (reason := _check_key(row, key))
        ]
    if not 0 <= row.budget_weight <= 100:  # noqa: PLR2004 - as in the message
        issues.append(
            {"path": f"{path}budget_weight", "message": _("Enter a number from 0 to 100")}
        )
    if issues:
        raise Invalid(issues[0]["message"], issues=issues)


def _check_key(row: LorebookEntry, key: str) -> str:
    if not key.strip():
        return str(_("Enter a key, or remove the empty one"))
    try:
        MaxLengthValidator(KEY_LENGTH)(key)
    except ValidationError as error:
        return error.messages[0]
    if row.regex:
        try:
            compile_pattern(key, case_sensitive=row.case_sensitive)
        except InvalidPattern as error:
            return str(_("Invalid regular expression (RE2): %(why)s") % {"why": error})
    return ""
