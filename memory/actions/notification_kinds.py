"""Kinds of events about proposals that people are notified about."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models.functions import Left
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.permissions import Permission
from kmapp.notifications.kinds import EventKind, Severity, Subject, register_kind
from memory.models import Finding, MemoryEntry

EXCERPT_LENGTH = 120  # characters


def load_waiting(account_id: UUID, _subjects: Sequence[str]) -> dict[str, Subject]:
    number = MemoryEntry.objects.of(account_id).awaiting_review().count()
    return {"": Subject(count=number)} if number else {}


def load_contradictions(account_id: UUID, ids: Sequence[str]) -> dict[str, Subject]:
    """Return the proposals among these that still contradict a memory."""
    contradicting = Finding.objects.of(account_id).filter(
        entry_id__in=map(UUID, ids), kind=Finding.Kind.CONTRADICTION
    )
    rows = MemoryEntry.objects.of(account_id).awaiting_review()
    rows = rows.filter(pk__in=contradicting.values("entry_id"))
    parts = rows.values_list("pk", "title", Left("content", EXCERPT_LENGTH))
    return {str(pk): Subject(title=title, excerpt=start, count=1) for pk, title, start in parts}


def format_waiting(_subject: str, count: int) -> str:
    text = ngettext("%(n)d proposal needs review", "%(n)d proposals need review", count)
    return text % {"n": count}


PROPOSALS_WAITING = register_kind(
    EventKind(
        name="proposals.waiting",
        label=_("Proposals need review"),
        needs=Permission.REVIEW,
        severity=Severity.INFO,
        icon="inbox",
        text=format_waiting,
        url=lambda _subject: reverse("memory:review"),
        load=load_waiting,
    )
)
CONTRADICTION = register_kind(
    EventKind(
        name="contradiction.found",
        label=_("A proposal contradicts another memory"),
        needs=Permission.REVIEW,
        severity=Severity.WARNING,
        icon="git-compare",
        text=lambda _entry, _count: gettext("A proposal contradicts another memory"),
        url=lambda entry: f"{reverse('memory:review')}?at={entry}",
        load=load_contradictions,
    )
)
