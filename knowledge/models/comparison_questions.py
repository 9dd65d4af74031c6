"""Saved queries for comparing variants."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountOwned

MAX_QUESTION_LENGTH = 500


class KnowledgeQuestion(AccountOwned):
    """A query for comparing variants. It is an experiment, so the ledger does not record it."""

    text = models.CharField(_("question"), max_length=MAX_QUESTION_LENGTH)
    created_by = models.CharField(_("written by"), max_length=50)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("question")
        verbose_name_plural = _("questions")
        constraints = [
            models.UniqueConstraint(fields=["account", "text"], name="one_question_per_text")
        ]

    def __str__(self) -> str:
        return self.text
