"""What commits said when they changed a row of settings: their input holds what it was before."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kmapp.accounts.models import SealedModel
from kmapp.ledger.models import Commit, Note, Seal

MOST = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One commit that changed the row; `changes` by name: what it was before and after."""

    commit: Commit
    reason: str
    changes: Mapping[str, Mapping[str, Any]]


def told_of(row: SealedModel, word: str) -> list[Told]:
    """The latest changes, newest first. `word` is theirs in the commits' input. Two queries."""
    seals = Seal.objects.of(row.account_id).filter(
        object_type=row._meta.label_lower, object_id=row.pk
    )
    commits = Commit.objects.of(row.account_id).filter(pk__in=seals.values("commit_id"))
    newest = list(commits.order_by("-seq")[:MOST])
    notes = {
        note.commit_id: note for note in Note.objects.of(row.account_id).filter(commit__in=newest)
    }
    return [_told(commit, notes.get(commit.pk), word) for commit in newest]


def _told(commit: Commit, note: Note | None, word: str) -> Told:
    said = note.input.get(word, {}) if note and note.input else {}
    return Told(commit=commit, reason=note.reason if note else "", changes=said)
