"""History of a settings row, read from the inputs of its commits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kmapp.accounts.models import SealedModel
from kmapp.ledger.models import Commit, Note, Seal

MOST = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """One commit that changed the row; `changes` by name: what it was before and after."""

    commit: Commit
    reason: str
    changes: Mapping[str, Mapping[str, Any]]


def list_setting_changes(row: SealedModel, input_key: str) -> list[SettingChange]:
    """Return the latest changes, newest first, with two queries. `input_key` selects them."""
    seals = Seal.objects.of(row.account_id).filter(
        object_type=row._meta.label_lower, object_id=row.pk
    )
    commits = Commit.objects.of(row.account_id).filter(pk__in=seals.values("commit_id"))
    newest = list(commits.order_by("-seq")[:MOST])
    notes = {
        note.commit_id: note for note in Note.objects.of(row.account_id).filter(commit__in=newest)
    }
    return [_setting_change(commit, notes.get(commit.pk), input_key) for commit in newest]


def _setting_change(commit: Commit, note: Note | None, input_key: str) -> SettingChange:
    values = note.input.get(input_key, {}) if note and note.input else {}
    return SettingChange(commit=commit, reason=note.reason if note else "", changes=values)
