"""Changes of the memory policy. Each is one commit, with the previous values."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.accounts.redacted_text import redact_text
from kmapp.errors import Conflict, Invalid, list_issues
from kmapp.ledger.actions import recording
from memory.actions.enqueue import enqueue_triage
from memory.models import MemoryEntry, MemorySettings

ACCOUNT_FIELDS = frozenset({"account_wide", "redact"})
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
) -> dict[str, tuple[Any, Any]]:
    """Set these values of the policy, and return the old and new value of each changed one."""
    account = Account.objects.select_for_update(no_key=True).get(pk=account_id)
    settings = MemorySettings.objects.of(account_id).first() or MemorySettings(account=account)
    if version is not None and settings.version != version:
        raise Conflict(
            _("Someone changed the policy after you opened this page. Check it and save again."),
            code="stale_version",
            details={"version": settings.version},
        )
    changed = _apply_values(account, settings, values)
    if not changed:
        return {}
    _validate(account, settings)
    # Redact by both the old and the new policy.
    stored_reason = redact_text(
        reason, {*account.redact, *changed.get("redact", (account.redact,))[0]}
    )
    stored_changes = {name: {"before": old, "after": new} for name, (old, new) in changed.items()}
    with recording(
        account_id, actor, input={POLICY_INPUT: stored_changes}, reason=stored_reason
    ) as commit:
        if account_fields := ACCOUNT_FIELDS & changed.keys():
            account.save(update_fields=account_fields)
            commit.add(account, "UPDATE")
        op = "ADD" if settings.version == 0 else "UPDATE"
        settings.version += 1
        settings.commit_id = commit.id
        settings.save(force_insert=op == "ADD", force_update=op != "ADD")
        commit.add(settings, op)
        if TRIAGE_FIELDS & changed.keys():
            waiting = MemoryEntry.objects.of(account_id).awaiting_review()
            enqueue_triage(account_id, waiting.values_list("pk", flat=True), commit.id)
    return changed


def _apply_values(
    account: Account, settings: MemorySettings, values: Mapping[str, Any]
) -> dict[str, tuple[Any, Any]]:
    changed = {}
    for name, value in values.items():
        if name not in ACCOUNT_FIELDS | MEMORY_FIELDS:
            raise Invalid(f"Unknown policy {name!r}.")
        row = account if name in ACCOUNT_FIELDS else settings
        before = getattr(row, name)
        after = sorted(value) if isinstance(before, list) else value
        if (sorted(before) if isinstance(before, list) else before) != after:
            changed[name] = (before, after)
            setattr(row, name, after)
    return changed


def _validate(account: Account, settings: MemorySettings) -> None:
    try:
        account.clean_fields()
        settings.clean_fields(exclude={"account", "commit"})  # the commit is not written yet
    except ValidationError as error:
        issues = list_issues(error.message_dict)
        raise Invalid(_("The policy was not saved."), issues=issues) from error
