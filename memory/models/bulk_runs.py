"""Deciding about many memories at once: the run, and the parts that it is done in."""

from collections.abc import Sequence
from uuid import UUID

from django.db import models
from django.db.models import Q
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountOwned, AccountQuerySet, SameAccountKey


class BulkRunQuerySet(AccountQuerySet["BulkRun"]):
    def affecting(self, ids: Sequence[UUID]) -> "BulkRunQuerySet":
        """Those that were about one of these memories."""
        names = RawSQL(
            "SELECT p.run_id FROM memory_bulkpart p, jsonb_array_elements(p.chosen) c "
            "WHERE c ->> 0 = ANY (%s)",
            [[str(pk) for pk in ids]],
        )
        return self.filter(pk__in=names)


class BulkRun(AccountOwned):
    """What a person asked for, about how many. How far it is stands in its parts."""

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

    objects = BulkRunQuerySet.as_manager()

    class Meta:
        verbose_name = _("bulk action")
        verbose_name_plural = _("bulk actions")
        constraints = [models.UniqueConstraint(fields=["account", "id"], name="run_in_account")]
        indexes = [models.Index(fields=["account", "-created_at"], name="runs_newest_first")]

    def __str__(self) -> str:
        return f"{self.deed} {self.asked}"


class BulkPart(AccountOwned):
    """Some memories of a run, decided in one commit. `chosen` has [id, version] as they were."""

    run = SameAccountKey(BulkRun, related_name="parts", verbose_name=_("bulk action"))
    number = models.PositiveIntegerField(_("number"))
    chosen = models.JSONField(_("selection"))
    done = models.PositiveIntegerField(_("done"), null=True)  # None: not yet
    restored = models.PositiveIntegerField(_("undone"), null=True)
    # Not a reference: a part that decided nothing has none, and commits are never deleted.
    decided_in = models.UUIDField(_("commit"), null=True)
    created_at = models.DateTimeField(_("time"), db_default=Now())

    objects = AccountQuerySet["BulkPart"].as_manager()

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
