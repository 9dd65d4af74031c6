"""Requests to extract memories, with their input and result."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountOwned


class Extraction(AccountOwned):
    """A request to a chat model, whose results are written as memories in one commit.

    The input is stored until the extraction is finished. An unusable answer is stored for people
    to read.
    """

    class Kind(models.TextChoices):
        CONVERSATION = "conversation", _("conversation")
        TASK = "task", _("completed task")
        PROCEDURE = "procedure", _("run record")
        REWRITE = "rewrite", _("instruction")

    kind = models.CharField(_("kind"), max_length=12, choices=Kind.choices)
    actor = models.CharField(_("requested by"), max_length=50)
    scope = models.CharField(_("scope"), max_length=200, blank=True)
    user_id = models.CharField(_("user"), max_length=200, blank=True)
    agent_id = models.CharField(_("agent"), max_length=200, blank=True)
    app_id = models.CharField(_("app"), max_length=200, blank=True)
    run_id = models.CharField(_("run"), max_length=200, blank=True)
    metadata = models.JSONField(_("metadata"), default=dict, blank=True)
    said = models.JSONField(_("original text"), default=dict, blank=True)
    # The memories of the input and of the result. Erasing one of them erases this row.
    memories = ArrayField(models.UUIDField(), verbose_name=_("memories"), default=list, blank=True)
    observed_at = models.DateTimeField(_("observed"))
    created_at = models.DateTimeField(_("created"))
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True)
    result = models.JSONField(_("result"), null=True, blank=True)
    problem = models.CharField(_("problem"), max_length=500, blank=True)
    answer = models.TextField(_("unusable model response"), blank=True)

    class Meta:
        verbose_name = _("extraction")
        verbose_name_plural = _("extractions")
        constraints = [
            models.UniqueConstraint(fields=["account", "id"], name="extraction_in_account")
        ]
        indexes = [
            models.Index(fields=["account", "-created_at", "-id"], name="extractions_newest_first"),
            models.Index(
                fields=["account"], condition=Q(finished_at=None), name="extractions_waiting"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.pk}"
