"""Webhooks of an account."""

from typing import ClassVar, Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountQuerySet, SealedModel
from kmapp.notifications.webhooks.payloads import NATIVE
from kmapp.security.egress.allowed_urls import MAX_LENGTH


class WebhookQuerySet(AccountQuerySet["Webhook"]):
    def active(self) -> Self:
        return self.filter(is_active=True)


class Webhook(SealedModel):
    """An address that receives a signed request for each change of the chosen types."""

    unsealed_fields = ("commit_id", "last_attempt_at", "last_error")

    name = models.CharField(_("name"), max_length=100)
    url = models.CharField(_("URL"), max_length=MAX_LENGTH)
    event_types = ArrayField(models.CharField(max_length=50), verbose_name=_("events"))
    payload_format = models.CharField(_("payload format"), max_length=20, default=NATIVE)
    secret = models.CharField(_("signing secret"), max_length=255, editable=False)  # encrypted
    is_active = models.BooleanField(_("active"), default=True)
    created_by = models.CharField(_("created by"), max_length=50)
    created_at = models.DateTimeField(_("created"))
    updated_at = models.DateTimeField(_("updated"))
    last_attempt_at = models.DateTimeField(_("last attempt"), null=True, blank=True)
    last_error = models.CharField(_("last error"), max_length=300, blank=True)

    objects: ClassVar = WebhookQuerySet.as_manager()

    class Meta:
        verbose_name = _("webhook")
        verbose_name_plural = _("webhooks")
        indexes = [models.Index(fields=["account", "-created_at"], name="webhooks_newest_first")]

    def __str__(self) -> str:
        return self.name
