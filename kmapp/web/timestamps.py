"""Formatting of times: relative for reading, exact on hover."""

from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
MONTH = timedelta(days=30)


def format_exact(moment: datetime) -> str:
    local = timezone.localtime(moment)
    return f"{local:%Y-%m-%d %H:%M:%S} {local.tzname()}"


def format_relative(moment: datetime, *, now: datetime | None = None) -> str:
    """Return how long ago or ahead the time is; beyond a month, the date."""
    away = (now or timezone.now()) - moment
    if abs(away) >= MONTH:
        return date_format(timezone.localtime(moment), "DATE_FORMAT")
    if abs(away) < MINUTE:
        return _("just now") if away >= -timedelta(seconds=5) else _("in a moment")
    return _format_past(away) if away > timedelta() else _format_future(-away)


def _format_past(away: timedelta) -> str:
    if away < HOUR:
        return _("%(n)d min ago") % {"n": away // MINUTE}
    if away < DAY:
        return _("%(n)d h ago") % {"n": away // HOUR}
    days = away // DAY
    return ngettext("%(n)d day ago", "%(n)d days ago", days) % {"n": days}


def _format_future(away: timedelta) -> str:
    if away < HOUR:
        return _("in %(n)d min") % {"n": away // MINUTE}
    if away < DAY:
        return _("in %(n)d h") % {"n": away // HOUR}
    days = away // DAY
    return ngettext("in %(n)d day", "in %(n)d days", days) % {"n": days}
