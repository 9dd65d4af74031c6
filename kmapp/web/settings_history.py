"""History of settings for pages: previous values, actor and reason of each change."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Model
from django.utils.text import capfirst

from kmapp.accounts.models import SealedModel
from kmapp.ledger.models import Commit, Seal

MAX_COMMITS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    label: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsCommit:
    """One commit that changed the settings."""

    commit: Commit
    reason: str
    changes: Sequence[SettingChange]


def field_label(model: type[Model], name: str) -> str:
    return capfirst(str(model._meta.get_field(name).verbose_name))  # type: ignore[union-attr]


def list_changes(
    row: SealedModel,
    input_key: str,
    *,
    format_value: Callable[[str, Any], str],
    label: Callable[[str], str] | None = None,
) -> list[SettingsCommit]:
    """Return the latest changes of a row, newest first. Inside `acting`.

    `input_key` is the key of the changes in the commits' input; `format_value` formats a value and
    `label` names a setting that is not a field of the row.
    """
    named = label or (lambda name: field_label(type(row), name))
    seals = Seal.objects.of(row.account_id).filter(
        object_type=row._meta.label_lower, object_id=row.pk
    )
    commits = Commit.objects.of(row.account_id).filter(pk__in=seals.values("commit_id"))
    history = []
    for commit in commits.select_related("note").order_by("-seq")[:MAX_COMMITS]:
        note = getattr(commit, "note", None)
        # The input of a batch that created the row is a text.
        changes = note.input.get(input_key) if note and isinstance(note.input, dict) else None
        if note and changes:
            formatted = [
                SettingChange(
                    label=named(name),
                    before=format_value(name, change["before"]),
                    after=format_value(name, change["after"]),
                )
                for name, change in sorted(changes.items())
            ]
            history.append(SettingsCommit(commit=commit, reason=note.reason, changes=formatted))
    return history
