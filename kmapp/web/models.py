"""Browser sessions, stored searches, and statistics that charts show.

Statistics are derived: deleting them loses history but no primary data.
"""

from urllib.parse import urlencode

from django.conf import settings
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountOwned, PersonOwned
from kmapp.web.site_search.query import MAX_LENGTH


class Session(AbstractBaseSession):
    """A browser session. It names its person, who can list and end their sessions."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        editable=False,
        on_delete=models.CASCADE,
        related_name="+",
        verbose_name=_("person"),
    )

    class Meta(AbstractBaseSession.Meta):
        abstract = False


class StoredSearch(PersonOwned):
    """A recent or saved search over everything."""

    text = models.CharField(_("search"), max_length=MAX_LENGTH)
    saved = models.BooleanField(_("saved"), default=False)
    used_at = models.DateTimeField(_("last used"))

    class Meta:
        verbose_name = _("search")
        verbose_name_plural = _("searches")
        constraints = [
            models.UniqueConstraint(fields=["account", "owner", "text"], name="one_search_per_text")
        ]

    def __str__(self) -> str:
        return self.text

    @property
    def url(self) -> str:
        return f"{reverse('web:search')}?{urlencode({'q': self.text})}"


class DailyStatistics(AccountOwned):
    """Figures of an account for one day in UTC, by name: totals of the day or values at its end."""

    day = models.DateField(_("day"))
    figures = models.JSONField(_("figures"), default=dict)

    class Meta:
        verbose_name = _("daily statistics")
        verbose_name_plural = _("daily statistics")
        constraints = [
            models.UniqueConstraint(fields=["account", "day"], name="one_statistics_row_per_day")
        ]

    def __str__(self) -> str:
        return str(self.day)


class SystemSample(models.Model):
    """Gauges and counters of the installation at one time, as seen by one host."""

    created_at = models.DateTimeField(_("time"))
    host = models.CharField(_("host"), max_length=255)
    values = models.JSONField(_("values"), default=dict)

    class Meta:
        verbose_name = _("system sample")
        verbose_name_plural = _("system samples")
        indexes = [models.Index(fields=["created_at"], name="samples_by_time")]

    def __str__(self) -> str:
        return f"{self.host} {self.created_at:%Y-%m-%d %H:%M}"
