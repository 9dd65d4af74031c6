"""Changes of the memory policy. Each is one commit, with the previous values."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.accounts.pii_redaction import redact_text
from kmapp.errors import Conflict, Invalid
from kmapp.ledger.actions import recording
from kmapp.ledger.save_settings import (
    ChangedValues,
    assign_values,
    build_changes_input,
    save_settings,
    validate_fields,
)
from memory.actions.follow_up_jobs import TRIAGE, enqueue_entries
from memory.models import MemoryEntry, MemorySettings

ACCOUNT_FIELDS = frozenset({"account_wide", "redact", "verify_on_read"})
TRIAGE_FIELDS = frozenset({"duplicate_score", "contradiction_score"})
MEMORY_FIELDS = TRIAGE_FIELDS | frozenset(
    {"memory_enabled", "auto_store", "store_threshold", "inject_max_memories", "min_score"}
    | {"review_visibilities", "review_kinds", "review_keys", "forget_after"}
    | {"instructions", "categories", "daily_writes", "open_proposals"}
)
POLICY_INPUT = "policy"  # key of the changes in the input of a commit


def update_policy(
    account_id: UUID,
    values: Mapping[str, Any],
    *,
    actor: Actor,
    version: int | None = None,
    reason: str = "",
) -> ChangedValues:
    """Set these values of the policy, and return the old and new value of each changed one."""
    account = Account.objects.select_for_update(no_key=True).get(pk=account_id)
    settings = MemorySettings.objects.of(account_id).first() or MemorySettings(account=account)
    if version is not None and settings.version != version:
        raise Conflict(
            _("Someone changed the policy after you opened this page. Check it and save again."),
            code="stale_version",
            details={"version": settings.version},
        )
    if unknown := values.keys() - ACCOUNT_FIELDS - MEMORY_FIELDS:
        raise Invalid(f"Unknown policy {min(unknown)!r}.")
    changed = assign_values(
        account, {name: values[name] for name in values if name in ACCOUNT_FIELDS}
    ) | assign_values(settings, {name: values[name] for name in values if name in MEMORY_FIELDS})
    if not changed:
        return {}
    validate_fields([account, settings], _("The policy was not saved."))
    # Redact by both the old and the new policy.
    stored_reason = redact_text(
        reason, {*account.redact, *changed.get("redact", (account.redact,))[0]}
    )
    changes = build_changes_input(POLICY_INPUT, changed)
    with recording(account_id, actor, input=changes, reason=stored_reason) as commit:
        if account_fields := ACCOUNT_FIELDS & changed.keys():
            account.save(update_fields=account_fields)
            commit.add(account, "UPDATE")
        save_settings(settings, commit)
        if TRIAGE_FIELDS & changed.keys():
            waiting = MemoryEntry.objects.of(account_id).awaiting_review()
            enqueue_entries(account_id, TRIAGE, waiting.values_list("pk", flat=True), commit.id)
    return changed
