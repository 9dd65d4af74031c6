"""Comparisons of two policies over recorded calls, with the difference of each call."""

from typing import ClassVar, Self

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from context.models.calls import ContextCostReport
from kmapp.accounts.models import AccountOwned, AccountQuerySet, SameAccountKey
from kmapp.outbox.background_evaluation_model import BackgroundEvaluation


class ContextComparison(BackgroundEvaluation):
    """A comparison; both sides are changes to the recorded calls."""

    # As `Changes` takes them: policy, window, reserve, profile, variant.
    left = models.JSONField(_("baseline"))
    right = models.JSONField(_("candidate"))
    agent_id = models.CharField(_("agent"), max_length=200, blank=True)
    model = models.CharField(_("model"), max_length=100, blank=True)
    wanted = models.PositiveIntegerField(_("calls requested"))
    total = models.PositiveIntegerField(_("calls"), default=0)
    gone = models.PositiveIntegerField(_("calls with expired inputs"), default=0)

    class Meta:
        verbose_name = _("call comparison")
        verbose_name_plural = _("call comparisons")
        constraints = [
            models.UniqueConstraint(fields=["account", "id"], name="comparison_in_account")
        ]
        indexes = [
            models.Index(fields=["account", "-created_at", "-id"], name="comparisons_newest_first")
        ]

    def __str__(self) -> str:
        return f"{self.wanted} {self.status}"


FITTING = Q(fits_before=True, fits_after=True)
# Kinds of differences, for filters and counts.
KINDS = {
    "changed": Q(is_same=False),
    "losing_evidence": Q(evidence_lost__gt=0),
    "no_longer_fitting": Q(fits_before=True, fits_after=False),
    "newly_fitting": Q(fits_before=False, fits_after=True),
    "larger": FITTING & Q(change__gt=0),
}


class DifferenceQuerySet(AccountQuerySet["ContextDifference"]):
    def of_kind(self, comparison: ContextComparison, kind: str) -> Self:
        """Return the calls of a kind, or all of them; largest change first."""
        return self.filter(KINDS.get(kind, Q()), comparison=comparison).order_by("-size", "pk")


class ContextDifference(AccountOwned):
    """One call under both sides. Tokens and cost of a side are undefined if it does not fit."""

    comparison = SameAccountKey(
        ContextComparison, related_name="differences", verbose_name=_("comparison")
    )
    report = SameAccountKey(ContextCostReport, related_name="+", verbose_name=_("call"))
    fits_before = models.BooleanField(_("baseline within budget"))
    fits_after = models.BooleanField(_("candidate within budget"))
    before = models.PositiveIntegerField(_("baseline tokens"))
    after = models.PositiveIntegerField(_("candidate tokens"))
    change = models.IntegerField(_("change in tokens"))
    size = models.PositiveIntegerField(_("size of the change"))
    dropped_before = models.PositiveIntegerField(_("left out in the baseline"))
    dropped_after = models.PositiveIntegerField(_("left out in the candidate"))
    evidence_lost = models.PositiveIntegerField(_("evidence lost"))
    cost_before = models.FloatField(_("baseline cost"), null=True)
    cost_after = models.FloatField(_("candidate cost"), null=True)
    is_same = models.BooleanField(_("unchanged"))
    differences = models.JSONField(_("differences"))

    objects: ClassVar = DifferenceQuerySet.as_manager()

    class Meta:
        verbose_name = _("call difference")
        verbose_name_plural = _("call differences")
        constraints = [
            models.UniqueConstraint(
                fields=["account", "comparison", "report"], name="one_difference_per_call"
            )
        ]
        indexes = [
            models.Index(
                fields=["account", "comparison", "-size", "id"], name="differences_by_size"
            )
        ]

    def __str__(self) -> str:
        return f"{self.before} → {self.after}"
