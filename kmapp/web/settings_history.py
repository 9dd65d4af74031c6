"""History of settings for pages: previous values, actor and reason of each change."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Model
from django.utils.text import capfirst

from kmapp.accounts.models import SealedModel
from kmapp.ledger.models import Commit
from kmapp.ledger.setting_history import list_setting_changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    label: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsCommit:
    """One commit that changed the settings."""

    commit: Commit
    reason: str
    changes: Sequence[Change]


def field_label(model: type[Model], name: str) -> str:
    return capfirst(str(model._meta.get_field(name).verbose_name))  # type: ignore[union-attr]


def list_changes(
    row: SealedModel,
    input_key: str,
    *,
    format_value: Callable[[str, Any], str],
    label: Callable[[str], str] | None = None,
) -> list[SettingsCommit]:
    """Return the latest changes of a row, newest first, with two queries. Inside `acting`.

    `input_key` is the key of the changes in the commits' input; `format_value` formats a value and
    `label` names a setting that is not a field of the row.
    """
    named = label or (lambda name: field_label(type(row), name))
    return [
        SettingsCommit(
            commit=change_record.commit,
            reason=change_record.reason,
            changes=[
                Change(
                    label=named(name),
                    before=format_value(name, change["before"]),
                    after=format_value(name, change["after"]),
                )
                for name, change in sorted(change_record.changes.items())
            ],
        )
        for change_record in list_setting_changes(row, input_key)
        if change_record.changes
    ]
