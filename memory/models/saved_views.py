"""Saved views of the list of memories."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountOwned

MAX_QUERY_LENGTH = 4_000  # characters of a query string


class SavedView(AccountOwned):
    """A named query string of the list."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="+",
        verbose_name=_("person"),
    )
    name = models.CharField(_("name"), max_length=80)
    shared = models.BooleanField(_("shared"), default=False)
    query = models.CharField(_("address"), max_length=MAX_QUERY_LENGTH, blank=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("saved view")
        verbose_name_plural = _("saved views")
        constraints = [
            models.UniqueConstraint(fields=["account", "owner", "name"], name="one_view_per_name")
        ]

    def __str__(self) -> str:
        return self.name
