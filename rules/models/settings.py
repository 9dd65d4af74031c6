"""Rule settings of an account."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountQuerySet, SealedModel

MAX_RETENTION = 36_500  # days


class RuleBook(SealedModel):
    """The gate that a rule passes before it counts; and a number that grows with every change.

    Whoever keeps compiled rules compares the number, read with each request.
    """

    unsealed_fields = ("commit_id", "changes")

    changes = models.PositiveBigIntegerField(_("changes"), default=0)
    min_seen = models.PositiveIntegerField(
        _("decisions seen, at least"), default=100, help_text=_("While the rule watched.")
    )
    min_changed = models.PositiveIntegerField(
        _("of them changed, at least"),
        default=20,
        help_text=_("Decisions that would have come out otherwise."),
    )
    max_against = models.FloatField(
        _("share of feedback against it, at most"),
        default=0.5,
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        help_text=_("The upper end of the interval counts, so that little feedback is none."),
    )
    second_person = models.BooleanField(
        _("a second person approves"),
        default=False,
        help_text=_("Who asks for a promotion cannot approve it."),
    )
    decision_days = models.PositiveIntegerField(
        _("decisions are kept for, in days"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_RETENTION)],
        help_text=_(
            "Then they go, and what watching rules made of them; those with feedback stay. "
            "Empty: they stay."
        ),
    )

    objects = AccountQuerySet["RuleBook"].as_manager()

    class Meta:
        verbose_name = _("rule book")
        verbose_name_plural = _("rule books")
        constraints = [
            models.UniqueConstraint(fields=["account"], name="one_rule_book_per_account"),
            models.CheckConstraint(
                condition=Q(max_against__gte=0, max_against__lte=1),
                name="max_against_between_0_and_1",
            ),
        ]

    def __str__(self) -> str:
        return str(self.changes)
