"""Rule settings of an account."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import SealedModel

MAX_RETENTION = 36_500  # days


class RuleBook(SealedModel):
    """The evidence gate, and a counter of changes, by which caches of compiled rules expire."""

    unsealed_fields = ("commit_id", "changes")

    changes = models.PositiveBigIntegerField(_("changes"), default=0)
    min_seen = models.PositiveIntegerField(
        _("minimum decisions evaluated"),
        default=100,
        help_text=_("Counted while the rule is in shadow."),
    )
    min_changed = models.PositiveIntegerField(
        _("minimum decisions changed"),
        default=20,
        help_text=_("Decisions whose result the rule would have changed."),
    )
    max_against = models.FloatField(
        _("maximum share of opposing feedback"),
        default=0.5,
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        help_text=_(
            "Uses the upper end of the confidence interval, so a few ratings are not enough "
            "to pass."
        ),
    )
    second_person = models.BooleanField(
        _("require approval by a second person"),
        default=False,
        help_text=_("You cannot approve a promotion that you requested."),
    )
    decision_days = models.PositiveIntegerField(
        _("decision retention (days)"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_RETENTION)],
        help_text=_(
            "Older decisions and their shadow observations are deleted, except those with "
            "feedback; leave empty to keep all."
        ),
    )

    class Meta:
        verbose_name = _("rule settings")
        verbose_name_plural = _("rule settings")
        constraints = [
            models.UniqueConstraint(fields=["account"], name="one_rule_book_per_account"),
            models.CheckConstraint(
                condition=Q(max_against__gte=0, max_against__lte=1),
                name="max_against_between_0_and_1",
            ),
        ]

    def __str__(self) -> str:
        return str(self.changes)
