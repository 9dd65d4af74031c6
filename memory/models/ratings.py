"""Ratings of memories by agents and people."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import SameAccountKey, SealedModel
from memory.models.entries import MemoryEntry


class MemoryRating(SealedModel):
    """The rating of a memory by one rater in one run. Another rating replaces it."""

    class Outcome(models.TextChoices):
        POSITIVE = "positive", _("useful")
        NEUTRAL = "neutral", _("neutral")
        NEGATIVE = "negative", _("outdated")
        VERY_NEGATIVE = "very_negative", _("wrong")

    entry = SameAccountKey(MemoryEntry, related_name="ratings", verbose_name=_("memory"))
    rater = models.CharField(_("rated by"), max_length=50)
    used_in = models.CharField(_("used in run"), max_length=200, blank=True)
    outcome = models.CharField(_("outcome"), max_length=13, choices=Outcome.choices)
    reason = models.TextField(_("reason"), blank=True)
    created_at = models.DateTimeField(_("rated"))

    class Meta:
        verbose_name = _("rating")
        verbose_name_plural = _("ratings")
        constraints = [
            models.UniqueConstraint(fields=["account", "id"], name="rating_in_account"),
            models.UniqueConstraint(
                fields=["account", "entry", "rater", "used_in"], name="one_rating_each"
            ),
            models.CheckConstraint(
                condition=Q(outcome__in=["positive", "neutral", "negative", "very_negative"]),
                name="rating_has_known_outcome",
            ),
        ]
        indexes = [models.Index(fields=["account", "-created_at"], name="ratings_newest_first")]

    def __str__(self) -> str:
        return f"{self.entry_id} {self.outcome}"
