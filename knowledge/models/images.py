"""Images of the documents that people write."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountOwned


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
