"""Records of exports of memories."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import SealedModel
from memory.models.saved_views import MAX_QUERY_LENGTH


class MemoryExport(SealedModel):
    """The record of an export of memories."""

    class Form(models.TextChoices):
        CSV = "csv", "CSV"
        NDJSON = "ndjson", "NDJSON"

    taken_by = models.CharField(_("exported by"), max_length=50)
    form = models.CharField(_("format"), max_length=6, choices=Form.choices)
    query = models.CharField(_("address"), max_length=MAX_QUERY_LENGTH, blank=True)
    number = models.PositiveIntegerField(_("memories"))
    created_at = models.DateTimeField(_("time"))

    class Meta:
        verbose_name = _("export")
        verbose_name_plural = _("exports")
        indexes = [models.Index(fields=["account", "-created_at"], name="exports_newest_first")]

    def __str__(self) -> str:
        return f"{self.number} {self.form} {self.taken_by}"
