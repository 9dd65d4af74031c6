"""Statistics that charts show. Derived: deleting them loses history but no primary data."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountOwned


class DailyStatistics(AccountOwned):
    """Figures of an account for one day in UTC, by name: numbers that add up or that ended it."""

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
