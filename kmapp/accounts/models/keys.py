"""API keys."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models.accounts import SealedModel
from kmapp.accounts.scopes import Scope


class ApiKey(SealedModel):
    """The credential of an agent. Only its hash is stored; the key is displayed once."""

    unsealed_fields = ("commit_id", "last_used_at")

    name = models.CharField(_("name"), max_length=100)
    prefix = models.CharField(_("prefix"), max_length=16, unique=True)
    hash = models.CharField(_("hash"), max_length=64, editable=False)
    scopes = ArrayField(
        models.CharField(max_length=30, choices=Scope.choices), verbose_name=_("scopes")
    )
    created_by = models.CharField(_("created by"), max_length=50)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True)
    last_used_at = models.DateTimeField(_("last used"), null=True, blank=True)

    class Meta:
        verbose_name = _("API key")
        verbose_name_plural = _("API keys")
        indexes = [models.Index(fields=["account", "-created_at"], name="keys_newest_first")]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"
