"""What a worker suggests about topics. Derived: it decides nothing, and is made again at will."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountOwned, AccountQuerySet, SameAccountKey
from memory.models.entries import MemoryEntry


class TopicSuggestion(AccountOwned):
    """Two topics that would be one if they were founded today, or one that would be two."""

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
    # Of a split, those that would leave.
    members = models.JSONField(_("memories"), default=list)
    score = models.FloatField(_("score"))  # see memory.topics.merge_split
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.OPEN)
    decided_by = models.CharField(_("decided by"), max_length=50, blank=True)
    decided_at = models.DateTimeField(_("decided"), null=True, blank=True)
    created_at = models.DateTimeField(_("suggested at"), db_default=Now())

    objects = AccountQuerySet["TopicSuggestion"].as_manager()

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
