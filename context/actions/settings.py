"""Changing what the account wants done with its context: one commit, with what it was before."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from context.actions.remotes import with_remote
from context.models import ContextSettings
from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.accounts.redacted_text import redacted_reason
from kmapp.errors import Conflict, Invalid
from kmapp.ledger.actions import recording

INPUT = "context"  # what a change is called in the input of its commit
FIXED = frozenset({"id", "account", "commit", "version"})


def change_settings(
    account_id: UUID,
    values: Mapping[str, Any],
    *,
    actor: Actor,
    version: int | None = None,
    reason: str = "",
) -> dict[str, tuple[Any, Any]]:
    """Set some of them. Returns what changed: by name what it was and what it is."""
    values = with_remote(values, ContextSettings.objects.here(account_id))
    account = Account.objects.select_for_update(no_key=True).get(pk=account_id)
    settings = ContextSettings.objects.of(account_id).first() or ContextSettings(account=account)
    if version is not None and settings.version != version:
        raise Conflict(
            _("Somebody changed these settings since you opened this page: set them anew."),
            code="stale_version",
            details={"version": settings.version},
        )
    changed = _differences(settings, values)
    if not changed:
        return {}
    kept = redacted_reason(account_id, reason)
    said = {name: _told(name, *both) for name, both in changed.items()}
    with recording(account_id, actor, input={INPUT: said}, reason=kept) as commit:
        op = "ADD" if settings.version == 0 else "UPDATE"
        settings.version += 1
        settings.commit_id = commit.id
        settings.save(force_insert=op == "ADD", force_update=op != "ADD")
        commit.add(settings, op)
    return changed


def _told(name: str, before: Any, after: Any) -> dict[str, Any]:
    """As the history keeps it: of a key only whether there is one."""
    if name == "remote_key":
        before, after = ("•••" if each else "" for each in (before, after))
    return {"before": before, "after": after}


def _differences(
    settings: ContextSettings, values: Mapping[str, Any]
) -> dict[str, tuple[Any, Any]]:
    """Set the values; what was another one is told."""
    names = {field.name for field in ContextSettings._meta.concrete_fields} - FIXED
    changed = {}
    for name, value in values.items():
        if name not in names:
            raise Invalid(f"There is no setting {name!r}.")
        before = getattr(settings, name)
        if before != value:
            changed[name] = (before, value)
            setattr(settings, name, value)
    try:
        settings.clean_fields(exclude={"account", "commit"})  # the commit is not written yet
    except ValidationError as error:
        raise Invalid(
            _("The settings were not changed."),
            issues=[
                {"path": name, "message": text}
                for name, texts in error.message_dict.items()
                for text in texts
            ],
        ) from error
    return changed
