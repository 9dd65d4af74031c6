"""What a worker found out about a proposal. Derived: thrown away and made again at will."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountOwned, AccountQuerySet, SameAccountKey
from memory.models.entries import MemoryEntry


class Need(models.TextChoices):
    """What a proposal asks of a reviewer. Of several, the first one listed here counts."""

    FLAGGED = "flagged", _("Flagged")
    CONTRADICTION = "contradiction", _("Contradiction")
    UPDATE = "update", _("Update")
    DUPLICATE = "duplicate", _("Near-duplicate")
    NEW = "new", _("New")


class Triage(AccountOwned):
    """Where a proposal belongs in the queue, as far as it was looked at."""

    entry = models.OneToOneField(
        MemoryEntry,
        on_delete=models.CASCADE,
        related_name="triage",
        db_constraint=False,
        verbose_name=_("memory"),
    )
    need = models.CharField(_("priority"), max_length=13, choices=Need.choices)
    version = models.PositiveIntegerField(_("version"))
    by_meaning = models.BooleanField(_("compared by meaning"))
    checked_at = models.DateTimeField(_("checked"))

    objects = AccountQuerySet["Triage"].as_manager()

    class Meta:
        verbose_name = _("triage")
        verbose_name_plural = _("triage")
        indexes = [models.Index(fields=["account", "need"], name="triage_by_need")]

    def __str__(self) -> str:
        return f"{self.entry_id} {self.need}"


class Finding(AccountOwned):
    """One thing to know before deciding, with its score and its evidence. It decides nothing."""

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

    objects = AccountQuerySet["Finding"].as_manager()

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
