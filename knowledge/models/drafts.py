"""Drafts of people, and the images of documents that they write."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountOwned, PersonOwned, SameAccountKey
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


class KnowledgeImage(AccountOwned):
    """An image of documents. Their texts contain its digest, so the ledger covers it."""

    class Type(models.TextChoices):
        PNG = "image/png", "PNG"
        JPEG = "image/jpeg", "JPEG"
        GIF = "image/gif", "GIF"
        WEBP = "image/webp", "WebP"

    sha256 = models.CharField(_("digest"), max_length=64)
    mime = models.CharField(_("type"), max_length=20, choices=Type.choices)
    size = models.PositiveIntegerField(_("bytes"))
    data = models.BinaryField(_("content"))
    created_by = models.CharField(_("uploaded by"), max_length=50)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("image")
        verbose_name_plural = _("images")
        constraints = [
            models.UniqueConstraint(fields=["account", "sha256"], name="one_image_per_digest")
        ]

    def __str__(self) -> str:
        return self.sha256[:8]

    def get_absolute_url(self) -> str:
        return f"/knowledge/images/{self.sha256}/"
