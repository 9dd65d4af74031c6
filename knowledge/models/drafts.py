"""Drafts of people."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import PersonOwned, SameAccountKey
from knowledge.models.documents import KnowledgeDocument


class KnowledgeDraft(PersonOwned):
    """The unsaved text of one person: of a document, or of a new one.

    Agents cannot find it, so the ledger does not record it.
    """

    document = SameAccountKey(
        KnowledgeDocument, null=True, blank=True, related_name="drafts", verbose_name=_("document")
    )
    base_version = models.PositiveIntegerField(_("version it changes"), default=0)
    source_name = models.CharField(_("source"), max_length=200, blank=True)
    folder = models.CharField(_("folder"), max_length=500, blank=True)
    title = models.CharField(_("title"), max_length=200, blank=True)
    text = models.TextField(_("text"), blank=True)
    updated_at = models.DateTimeField(_("updated"))

    class Meta:
        verbose_name = _("draft")
        verbose_name_plural = _("drafts")
        constraints = [
            models.UniqueConstraint(
                fields=["account", "owner", "document"],
                name="one_draft_per_person",
                nulls_distinct=False,
            )
        ]

    def __str__(self) -> str:
        return self.title or str(self.document_id)
