"""Decisions of rules, observations of shadow rules, and feedback."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountOwned, SameAccountKey, SealedModel
from rules.models.rules import Rule


class RuleDecision(AccountOwned):
    """One selection of a tool, with its inputs. A record that no commit seals."""

    class Origin(models.TextChoices):
        SELECT = "select", _("tool selection")
        FEEDBACK = "feedback", _("added by feedback")

    scope = models.CharField(_("scope"), max_length=200, blank=True)
    run_id = models.CharField(_("run"), max_length=200, blank=True)
    user_id = models.CharField(_("user"), max_length=200, blank=True)
    agent_id = models.CharField(_("agent"), max_length=200, blank=True)
    app_id = models.CharField(_("app"), max_length=200, blank=True)
    origin = models.CharField(
        _("origin"), max_length=8, choices=Origin.choices, default=Origin.SELECT
    )
    context = models.JSONField(_("context"))
    context_sha256 = models.CharField(_("context digest"), max_length=64)
    candidates = ArrayField(models.CharField(max_length=200), verbose_name=_("candidates"))
    strict = models.BooleanField(_("strict"), default=True)
    considered = models.PositiveIntegerField(_("rules considered"))
    source_rule_ids = ArrayField(models.UUIDField(), verbose_name=_("applied rules"))
    policy = models.JSONField(_("policy"))
    policy_sha256 = models.CharField(_("policy digest"), max_length=64)
    denied = models.JSONField(_("denied"), default=dict)
    ordered = ArrayField(models.CharField(max_length=200), verbose_name=_("order"))
    # Empty: no tool was left.
    selected_tool = models.CharField(_("selected"), max_length=200, blank=True)
    fallback = models.CharField(_("fallback"), max_length=30, blank=True)
    conflicts = models.JSONField(_("conflicts"), default=list)
    watched = models.PositiveIntegerField(_("matched shadow rules"), default=0)
    differs = models.BooleanField(_("changed by a shadow rule"), default=False)
    created_by = models.CharField(_("requested by"), max_length=50)
    created_at = models.DateTimeField(_("time"))

    class Meta:
        verbose_name = _("decision")
        verbose_name_plural = _("decisions")
        constraints = [
            models.UniqueConstraint(fields=["account", "id"], name="decision_in_account")
        ]
        indexes = [
            models.Index(fields=["account", "-created_at", "-id"], name="decisions_newest_first"),
            models.Index(fields=["account", "run_id", "-created_at"], name="decisions_of_run"),
            models.Index(
                fields=["account", "selected_tool", "-created_at"], name="decisions_of_tool"
            ),
            models.Index(
                fields=["account", "-created_at"],
                condition=Q(differs=True),
                name="decisions_that_differ",
            ),
            models.Index(
                fields=["account", "-created_at"],
                condition=~Q(conflicts=[]),
                name="decisions_with_conflicts",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.selected_tool or '–'} {self.created_at:%Y-%m-%d %H:%M:%S}"


class RuleObservation(AccountOwned):
    """The effect that a shadow rule would have had on a decision."""

    rule = SameAccountKey(Rule, related_name="observations", verbose_name=_("rule"))
    decision = SameAccountKey(RuleDecision, related_name="observations", verbose_name=_("decision"))
    matched = models.BooleanField(_("matched"))
    changed = models.BooleanField(_("would change the decision"))
    after = models.JSONField(_("result with the rule"), default=dict)
    created_at = models.DateTimeField(_("time"))

    class Meta:
        verbose_name = _("observation")
        verbose_name_plural = _("observations")
        constraints = [
            models.UniqueConstraint(
                fields=["account", "decision", "rule"], name="one_observation_per_rule"
            )
        ]
        indexes = [
            models.Index(
                fields=["account", "rule", "changed", "-created_at"], name="observations_of_rule"
            )
        ]

    def __str__(self) -> str:
        return f"{self.rule_id} {self.decision_id}"


class RuleFeedback(SealedModel):
    """Feedback on a decision, once for each outcome, or on a rule."""

    class Outcome(models.TextChoices):
        POSITIVE = "positive", _("good")
        NEUTRAL = "neutral", _("neutral")
        NEGATIVE = "negative", _("bad")
        VERY_NEGATIVE = "very_negative", _("very bad")

    decision = SameAccountKey(
        RuleDecision,
        on_delete=models.PROTECT,
        related_name="feedback",
        null=True,
        verbose_name=_("decision"),
    )
    run_id = models.CharField(_("run"), max_length=200, blank=True)
    outcome = models.CharField(_("outcome"), max_length=13, choices=Outcome.choices)
    # The rules in whose statistics it is counted.
    rule_ids = ArrayField(models.UUIDField(), verbose_name=_("rules"), default=list)
    target = models.CharField(_("target"), max_length=8, blank=True)
    note = models.TextField(_("note"), blank=True)
    created_by = models.CharField(_("submitted by"), max_length=50)
    created_at = models.DateTimeField(_("time"))

    class Meta:
        verbose_name = _("feedback on rules")
        verbose_name_plural = _("feedback on rules")
        constraints = [
            models.UniqueConstraint(
                fields=["account", "decision", "outcome"], name="one_feedback_per_outcome"
            )
        ]
        indexes = [
            models.Index(fields=["account", "-created_at", "-id"], name="feedback_newest_first"),
            models.Index(fields=["account", "run_id", "-created_at"], name="feedback_of_run"),
        ]

    def __str__(self) -> str:
        return f"{self.outcome} {self.decision_id or ''}"


class RuleStatistics(AccountOwned):
    """Counts of the feedback on one rule. Derived: `recount_feedback` rebuilds them."""

    rule = models.OneToOneField(
        Rule,
        on_delete=models.CASCADE,
        related_name="statistics",
        db_constraint=False,
        db_index=False,
        verbose_name=_("rule"),
    )
    positive = models.PositiveIntegerField(_("good"), default=0)
    neutral = models.PositiveIntegerField(_("neutral"), default=0)
    negative = models.PositiveIntegerField(_("bad"), default=0)
    updated_at = models.DateTimeField(_("updated"), auto_now=True)

    class Meta:
        verbose_name = _("rule statistics")
        verbose_name_plural = _("rule statistics")
        constraints = [
            models.UniqueConstraint(
                fields=["account", "rule"], name="one_row_of_statistics_per_rule"
            )
        ]

    def __str__(self) -> str:
        return f"+{self.positive} −{self.negative}"
