"""Promotion requests, backtests and suggestions."""

from typing import ClassVar, Self

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountOwned, AccountQuerySet, SameAccountKey, SealedModel
from kmapp.outbox.background_evaluation_model import BackgroundEvaluation
from rules.models.rules import Rule


class PromotionQuerySet(AccountQuerySet["RulePromotion"]):
    def undecided(self) -> Self:
        """Return the requests that a second person can still approve."""
        waiting = RulePromotion.Status.WAITING
        return self.filter(status=waiting, rule__state=Rule.State.SHADOW)


class RulePromotion(SealedModel):
    """A request to promote a rule. A second person approves exactly the content of the request."""

    class Status(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        APPROVED = "approved", _("Approved")
        WITHDRAWN = "withdrawn", _("Withdrawn")

    rule = SameAccountKey(Rule, related_name="promotions", verbose_name=_("rule"))
    # Digest of the rule and its active edition when the promotion was requested.
    seen_sha256 = models.CharField(_("reviewed content digest"), max_length=64)
    override = models.BooleanField(_("gate override"), default=False)
    reason = models.TextField(_("reason"))
    status = models.CharField(
        _("status"), max_length=9, choices=Status.choices, default=Status.WAITING
    )
    asked_by = models.CharField(_("requested by"), max_length=50)
    created_at = models.DateTimeField(_("time"))
    decided_by = models.CharField(_("decided by"), max_length=50, blank=True)
    decided_at = models.DateTimeField(_("decided"), null=True, blank=True)

    objects: ClassVar = PromotionQuerySet.as_manager()

    class Meta:
        verbose_name = _("promotion")
        verbose_name_plural = _("promotions")
        constraints = [
            models.UniqueConstraint(
                fields=["account", "rule"],
                condition=Q(status="waiting"),
                name="one_waiting_promotion_per_rule",
            )
        ]
        indexes = [models.Index(fields=["account", "-created_at"], name="promotions_newest_first")]

    def __str__(self) -> str:
        return f"{self.rule_id} {self.status}"


class RuleBacktest(BackgroundEvaluation):
    """The effect of a rule on recorded decisions."""

    rule = SameAccountKey(Rule, related_name="backtests", verbose_name=_("rule"))
    version = models.PositiveIntegerField(_("rule version"))
    wanted = models.PositiveIntegerField(_("decisions requested"))
    total = models.PositiveIntegerField(_("decisions"), default=0)
    seen = models.PositiveIntegerField(_("evaluated"), default=0)
    matched = models.PositiveIntegerField(_("matched"), default=0)
    changed = models.PositiveIntegerField(_("would have changed"), default=0)
    examples = models.JSONField(_("examples"), default=list)

    class Meta:
        verbose_name = _("backtest")
        verbose_name_plural = _("backtests")
        indexes = [
            models.Index(fields=["account", "rule", "-created_at"], name="backtests_of_rule")
        ]

    def __str__(self) -> str:
        return f"{self.rule_id} {self.status}"


class RuleSuggestion(AccountOwned):
    """A suggestion from the evidence, replaced by each run of the job. A person decides."""

    class Kind(models.TextChoices):
        PROMOTE = "promote", _("Promote")
        DEMOTE = "demote", _("Demote")
        RETIRE = "retire", _("Retire")

    rule = models.OneToOneField(
        Rule,
        on_delete=models.CASCADE,
        related_name="suggestion",
        db_constraint=False,
        db_index=False,
        verbose_name=_("rule"),
    )
    kind = models.CharField(_("suggestion"), max_length=7, choices=Kind.choices)
    evidence = models.JSONField(_("evidence"))
    created_at = models.DateTimeField(_("time"))

    class Meta:
        verbose_name = _("suggestion")
        verbose_name_plural = _("suggestions")
        constraints = [
            models.UniqueConstraint(fields=["account", "rule"], name="one_suggestion_per_rule")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.rule_id}"
