"""What settings were before, by whom they were changed, and why: as pages list it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Model
from django.utils.text import capfirst

from kmapp.accounts.models import SealedModel
from kmapp.ledger.models import Commit
from kmapp.ledger.setting_history import told_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    label: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One commit that changed the settings."""

    commit: Commit
    reason: str
    changes: Sequence[Change]


def label_of(model: type[Model], name: str) -> str:
    return capfirst(str(model._meta.get_field(name).verbose_name))  # type: ignore[union-attr]


def steps_of(
    row: SealedModel,
    word: str,
    *,
    said: Callable[[str, Any], str],
    label: Callable[[str], str] | None = None,
) -> list[Step]:
    """The latest changes of a row, newest first. Two queries. Inside `acting`.

    `word` is theirs in the commits' input; `said` puts the value of a setting into words, `label`
    its name, where that is no field of the row.
    """
    named = label or (lambda name: label_of(type(row), name))
    return [
        Step(
            commit=told.commit,
            reason=told.reason,
            changes=[
                Change(
                    label=named(name),
                    before=said(name, change["before"]),
                    after=said(name, change["after"]),
                )
                for name, change in sorted(told.changes.items())
            ],
        )
        for told in told_of(row, word)
        if told.changes
    ]
