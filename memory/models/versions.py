"""Versions of memories, and records of erased ones."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import SameAccountKey
from kmapp.ledger.models import State, Tombstone
from memory.models.entries import MemoryEntry


class MemoryVersion(State):
    """The state of a memory that a commit sealed."""

    class Event(models.TextChoices):
        ADD = "ADD", _("added")
        PROPOSE = "PROPOSE", _("proposed")
        UPDATE = "UPDATE", _("changed")
        APPROVE = "APPROVE", _("approved")
        REJECT = "REJECT", _("rejected")
        PIN = "PIN", _("pinned")
        UNPIN = "UNPIN", _("unpinned")
        FORGET = "FORGET", _("forgotten")
        SUPERSEDE = "SUPERSEDE", _("superseded")
        RATE = "RATE", _("rated")
        MERGE = "MERGE", _("merged")
        UNDO = "UNDO", _("undone")

    DECISIONS = (Event.APPROVE, Event.REJECT, Event.MERGE)

    entry = SameAccountKey(MemoryEntry, related_name="versions", verbose_name=_("memory"))
    event = models.CharField(_("event"), max_length=10, choices=Event.choices)

    class Meta:
        verbose_name = _("version")
        verbose_name_plural = _("versions")
        constraints = [
            models.UniqueConstraint(
                fields=["account", "entry", "version"], name="one_state_per_version"
            )
        ]
        indexes = [
            models.Index(fields=["account", "-created_at"], name="versions_newest_first"),
            models.Index(
                fields=["account", "created_at"],
                condition=Q(event__in=["APPROVE", "REJECT", "MERGE"]),
                name="decisions_by_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.entry_id} v{self.version} {self.event}"


class ErasedEntry(Tombstone):
    """An erased memory. Its id stays reserved, and writing its client id gets status 410."""

    # The first commits of the memory, since the ledger has no index of object ids.
    commits = ArrayField(models.UUIDField(), default=list, db_default=[], editable=False)

    class Meta:
        verbose_name = _("erased memory")
        verbose_name_plural = _("erased memories")
