"""Changes of the context settings: one commit with the previous values."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.conf import settings as conf
from django.utils.translation import gettext as _

from context.models import ContextSettings
from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.accounts.pii_redaction import redact_reason
from kmapp.database.encryption import encrypt_text
from kmapp.errors import Conflict, Invalid
from kmapp.ledger.actions import recording
from kmapp.ledger.save_settings import (
    ChangedValues,
    assign_values,
    build_changes_input,
    save_settings,
    validate_fields,
)

INPUT = "context"  # key of a change in the input of its commit
NO_REMOTE = {"remote_url": "", "remote_key": "", "remote_sources": []}
NAMES = {field.name for field in ContextSettings._meta.concrete_fields} - {
    *("id", "account", "commit", "version")
}


def change_settings(
    account_id: UUID,
    values: Mapping[str, Any],
    *,
    actor: Actor,
    version: int | None = None,
    reason: str = "",
) -> ChangedValues:
    """Change settings. Return the previous and the new value by name."""
    account = Account.objects.select_for_update(no_key=True).get(pk=account_id)
    settings = ContextSettings.objects.of(account_id).first() or ContextSettings(account=account)
    if version is not None and settings.version != version:
        raise Conflict(
            _(
                "Someone changed these settings after you opened this page. Check them and save "
                "again."
            ),
            code="stale_version",
            details={"version": settings.version},
        )
    if unknown := values.keys() - NAMES:
        raise Invalid(f"The setting {min(unknown)!r} does not exist.")
    # Compare with the locked settings, so that a key is never used for another address.
    values = _prepare_remote(values, settings)
    changed = assign_values(settings, values)
    if not changed:
        return {}
    validate_fields([settings], _("The settings were not changed."))
    logged = changed
    if "remote_key" in changed:
        before, after = ("•••" if value else "" for value in changed["remote_key"])
        logged = {**changed, "remote_key": (before, after)}
    stored_reason = redact_reason(account_id, reason)
    logged_input = build_changes_input(INPUT, logged)
    with recording(account_id, actor, input=logged_input, reason=stored_reason) as commit:
        save_settings(settings, commit)
    return changed


def _prepare_remote(values: Mapping[str, Any], present: ContextSettings) -> dict[str, Any]:
    """Return the values to store: the key encrypted, or removed together with the address.

    The operator allows addresses, so that no account can make this server call any other host. A
    key belongs to one address, so that a new address needs its key.
    """
    prepared = dict(values)
    if not prepared.keys() & NO_REMOTE.keys():
        return prepared
    key, url = prepared.pop("remote_key", ""), str(prepared.get("remote_url", present.remote_url))
    if not url:
        return {**prepared, **NO_REMOTE}
    prepared["remote_url"] = url = url.rstrip("/")
    if url not in conf.REMOTE_BASE_URLS:
        allowed = ", ".join(conf.REMOTE_BASE_URLS) or _("none")
        raise Invalid(
            _("This address is not allowed. Use one of these: %(known)s.") % {"known": allowed},
            code="remote_not_allowed",
            issues=[{"path": "remote_url", "message": "must be one of REMOTE_BASE_URLS"}],
        )
    if key:
        prepared["remote_key"] = encrypt_text(key)
    elif url != present.remote_url:
        raise Invalid(
            _("Enter the API key for this address."),
            issues=[{"path": "remote_key", "message": "is missing"}],
        )
    return prepared
