"""Summaries of conversations."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from context.models.archives import ExtractiveReason
from kmapp.accounts.models import AccountOwned


class ContextSummary(AccountOwned):
    """A summary of the first messages of a conversation, reused by later calls.

    An expired one has no text, and still states which messages memory has received.
    """

    conversation_id = models.CharField(_("conversation"), max_length=200)
    thread_id = models.CharField(_("thread"), max_length=200, blank=True)
    user_id = models.CharField(_("user"), max_length=200, blank=True)
    # A salted digest of the messages and of the language.
    digest = models.UUIDField(_("digest of the messages"))
    covers = models.PositiveIntegerField(_("number of messages"))
    bodies = ArrayField(models.UUIDField(), verbose_name=_("messages"), default=list, blank=True)
    text = models.TextField(_("summary"))
    summary_by = models.CharField(_("summary model"), max_length=200, blank=True)
    extractive = models.CharField(
        _("reason for an extractive summary"),
        max_length=20,
        choices=ExtractiveReason.choices,
        blank=True,
    )
    flushed = models.BooleanField(_("sent to memory first"), default=False)
    created_at = models.DateTimeField(_("written"))

    class Meta:
        verbose_name = _("conversation summary")
        verbose_name_plural = _("conversation summaries")
        constraints = [
            models.UniqueConstraint(fields=["account", "digest"], name="one_summary_per_digest")
        ]
        indexes = [
            models.Index(
                fields=["account", "conversation_id", "-covers"], name="summaries_of_conversation"
            )
        ]

    def __str__(self) -> str:
        return self.text[:60] or str(self.pk)
