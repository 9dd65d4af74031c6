"""Changes of the context settings: one commit with the previous values."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.conf import settings as conf
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from context.models import ContextSettings
from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.accounts.redacted_text import redacted_reason
from kmapp.database.encryption import seal
from kmapp.errors import Conflict, Invalid, list_issues
from kmapp.ledger.actions import recording

INPUT = "context"  # key of a change in the input of its commit
NO_REMOTE = {"remote_url": "", "remote_key": "", "remote_sources": []}
FIXED = frozenset({"id", "account", "commit", "version"})


def change_settings(
    account_id: UUID,
    values: Mapping[str, Any],
    *,
    actor: Actor,
    version: int | None = None,
    reason: str = "",
) -> dict[str, tuple[Any, Any]]:
    """Change settings. Return the previous and the new value by name."""
    values = _prepare_remote(values, ContextSettings.objects.get_or_default(account_id))
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
    changed = _apply_values(settings, values)
    if not changed:
        return {}
    redacted = redacted_reason(account_id, reason)
    entries = {name: _history_entry(name, *values_) for name, values_ in changed.items()}
    with recording(account_id, actor, input={INPUT: entries}, reason=redacted) as commit:
        op = "ADD" if settings.version == 0 else "UPDATE"
        settings.version += 1
        settings.commit_id = commit.id
        settings.save(force_insert=op == "ADD", force_update=op != "ADD")
        commit.add(settings, op)
    return changed


def _history_entry(name: str, before: Any, after: Any) -> dict[str, Any]:
    """Return the values for the history; a key is masked."""
    if name == "remote_key":
        before, after = ("•••" if value else "" for value in (before, after))
    return {"before": before, "after": after}


def _apply_values(
    settings: ContextSettings, values: Mapping[str, Any]
) -> dict[str, tuple[Any, Any]]:
    names = {field.name for field in ContextSettings._meta.concrete_fields} - FIXED
    changed = {}
    for name, value in values.items():
        if name not in names:
            raise Invalid(f"The setting {name!r} does not exist.")
        before = getattr(settings, name)
        if before != value:
            changed[name] = (before, value)
            setattr(settings, name, value)
    try:
        settings.clean_fields(exclude={"account", "commit"})  # the commit does not exist yet
    except ValidationError as error:
        raise Invalid(
            _("The settings were not changed."),
            issues=list_issues(error.message_dict),
        ) from error
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
        prepared["remote_key"] = seal(key)
    elif url != present.remote_url:
        raise Invalid(
            _("Enter the API key for this address."),
            issues=[{"path": "remote_key", "message": "is missing"}],
        )
    return prepared
