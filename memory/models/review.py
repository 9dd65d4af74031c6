"""Review of proposals and topics: findings, leases, bulk decisions and suggestions."""

from collections.abc import Sequence
from typing import ClassVar
from uuid import UUID

from django.db import models
from django.db.models import Q
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountOwned, AccountQuerySet, SameAccountKey
from memory.models.entries import MemoryEntry


class Need(models.TextChoices):
    """Priority of a proposal in the queue. If several apply, the first one is used."""

    FLAGGED = "flagged", _("Flagged")
    CONTRADICTION = "contradiction", _("Contradiction")
    UPDATE = "update", _("Update")
    DUPLICATE = "duplicate", _("Near-duplicate")
    NEW = "new", _("New")


def _one_per_entry(related_name: str) -> "models.OneToOneField[MemoryEntry, MemoryEntry]":
    return models.OneToOneField(
        MemoryEntry,
        on_delete=models.CASCADE,
        related_name=related_name,
        db_constraint=False,
        verbose_name=_("memory"),
    )


class Triage(AccountOwned):
    """The priority of a proposal, as of its last triage."""

    entry = _one_per_entry(related_name="triage")
    need = models.CharField(_("priority"), max_length=13, choices=Need.choices)
    version = models.PositiveIntegerField(_("version"))
    by_meaning = models.BooleanField(_("compared by meaning"))
    checked_at = models.DateTimeField(_("checked"))

    class Meta:
        verbose_name = _("triage")
        verbose_name_plural = _("triage")
        indexes = [models.Index(fields=["account", "need"], name="triage_by_need")]

    def __str__(self) -> str:
        return f"{self.entry_id} {self.need}"


class Finding(AccountOwned):
    """A fact for the reviewer of a proposal, with its score and evidence. Derived."""

    class Kind(models.TextChoices):
        RISK = "risk", _("risk")
        PERSONAL = "personal", _("personal data")
        CONTRADICTION = "contradiction", _("contradiction")
        UPDATE = "update", _("update")
        DUPLICATE = "duplicate", _("near-duplicate")
        SIMILAR = "similar", _("similar")

    entry = SameAccountKey(MemoryEntry, related_name="findings", verbose_name=_("memory"))
    kind = models.CharField(_("kind"), max_length=13, choices=Kind.choices)
    name = models.CharField(_("name"), max_length=30, blank=True)  # of a risk
    other = SameAccountKey(
        MemoryEntry, related_name="found_beside", null=True, verbose_name=_("compared with")
    )
    score = models.FloatField(_("score"), default=1.0)
    details = models.JSONField(_("evidence"), default=dict)
    created_at = models.DateTimeField(_("found"), db_default=Now())

    class Meta:
        verbose_name = _("finding")
        verbose_name_plural = _("findings")
        constraints = [
            models.UniqueConstraint(
                fields=["account", "entry", "kind", "name", "other"],
                name="one_finding_of_a_kind",
                nulls_distinct=False,
            )
        ]
        indexes = [models.Index(fields=["account", "other"], name="findings_beside")]

    def __str__(self) -> str:
        return f"{self.entry_id} {self.kind} {self.name}"

    @property
    def differs(self) -> bool:
        """Return whether the texts are similar enough to be shown as a diff."""
        return self.kind != self.Kind.SIMILAR


class ReviewLease(AccountOwned):
    """A short lease of a proposal by one reviewer. Nothing is lost when it expires."""

    entry = _one_per_entry(related_name="lease")
    holder = models.CharField(_("locked by"), max_length=50)
    token = models.UUIDField(_("lease"))
    until = models.DateTimeField(_("locked until"))

    class Meta:
        verbose_name = _("lease")
        verbose_name_plural = _("leases")
        indexes = [models.Index(fields=["account", "holder"], name="leases_by_holder")]

    def __str__(self) -> str:
        return f"{self.entry_id} {self.holder}"


class BulkRunQuerySet(AccountQuerySet["BulkRun"]):
    def affecting(self, ids: Sequence[UUID]) -> "BulkRunQuerySet":
        names = RawSQL(
            "SELECT p.run_id FROM memory_bulkpart p, jsonb_array_elements(p.chosen) c "
            "WHERE c ->> 0 = ANY (%s)",
            [[str(pk) for pk in ids]],
        )
        return self.filter(pk__in=names)


class BulkRun(AccountOwned):
    """A decision about many memories. Its parts hold the progress."""

    class Operation(models.TextChoices):
        APPROVE = "approve", _("Approve")
        REJECT = "reject", _("Reject")
        FORGET = "forget", _("Forget")

    deed = models.CharField(_("action"), max_length=7, choices=Operation.choices)
    actor = models.CharField(_("actor"), max_length=50)
    reason = models.TextField(_("reason"), blank=True)
    asked = models.PositiveIntegerField(_("requested count"))
    created_at = models.DateTimeField(_("time"))
    undone_at = models.DateTimeField(_("undone"), null=True)
    undone_by = models.CharField(_("undone by"), max_length=50, blank=True)

    objects: ClassVar = BulkRunQuerySet.as_manager()

    class Meta:
        verbose_name = _("bulk action")
        verbose_name_plural = _("bulk actions")
        constraints = [models.UniqueConstraint(fields=["account", "id"], name="run_in_account")]
        indexes = [models.Index(fields=["account", "-created_at"], name="runs_newest_first")]

    def __str__(self) -> str:
        return f"{self.deed} {self.asked}"


class BulkPart(AccountOwned):
    """Memories of a run that are decided in one commit. `chosen` lists [id, version]."""

    run = SameAccountKey(BulkRun, related_name="parts", verbose_name=_("bulk action"))
    number = models.PositiveIntegerField(_("number"))
    chosen = models.JSONField(_("selection"))
    done = models.PositiveIntegerField(_("done"), null=True)  # None until it is decided
    restored = models.PositiveIntegerField(_("undone"), null=True)
    # Not a foreign key, because commits are never deleted. None if nothing was decided.
    decided_in = models.UUIDField(_("commit"), null=True)
    created_at = models.DateTimeField(_("time"), db_default=Now())

    class Meta:
        verbose_name = _("item of a bulk action")
        verbose_name_plural = _("items of bulk actions")
        constraints = [
            models.UniqueConstraint(
                fields=["account", "run", "number"], name="one_part_per_number"
            ),
            models.CheckConstraint(
                condition=Q(decided_in__isnull=True) | Q(done__gt=0),
                name="part_with_commit_decided_something",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.number}"


class TopicSuggestion(AccountOwned):
    """A suggestion to merge two topics or to split one. Derived."""

    class Kind(models.TextChoices):
        MERGE = "merge", _("Merge")
        SPLIT = "split", _("Split")

    class State(models.TextChoices):
        OPEN = "open", _("open")
        FOLLOWED = "followed", _("accepted")
        DECLINED = "declined", _("declined")

    kind = models.CharField(_("kind"), max_length=5, choices=Kind.choices)
    topic = SameAccountKey(MemoryEntry, related_name="+", verbose_name=_("topic"))
    other = SameAccountKey(MemoryEntry, related_name="+", null=True, verbose_name=_("other topic"))
    # Of a split: the members of the new topic.
    members = models.JSONField(_("memories"), default=list)
    score = models.FloatField(_("score"))  # see memory.topics.merge_split_suggestions
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.OPEN)
    decided_by = models.CharField(_("decided by"), max_length=50, blank=True)
    decided_at = models.DateTimeField(_("decided"), null=True, blank=True)
    created_at = models.DateTimeField(_("suggested at"), db_default=Now())

    class Meta:
        verbose_name = _("topic suggestion")
        verbose_name_plural = _("topic suggestions")
        constraints = [
            models.UniqueConstraint(
                fields=["account", "kind", "topic", "other"],
                name="one_suggestion_each",
                nulls_distinct=False,
            ),
            models.CheckConstraint(
                condition=Q(kind="split", other__isnull=True)
                | Q(kind="merge", other__isnull=False),
                name="merge_has_two_topics",
            ),
        ]
        indexes = [
            models.Index(
                fields=["account", "-score"], condition=Q(state="open"), name="suggestions_open"
            ),
            models.Index(fields=["account", "other"], name="suggestions_beside"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.topic_id}"
