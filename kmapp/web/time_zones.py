"""The time zone of pages: the person's choice, else the browser's, else TIME_ZONE.

It applies to what pages show and what people type there. The API and exports use UTC.
"""

from collections.abc import Iterable
from datetime import datetime
from functools import cache
from itertools import groupby
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.http import HttpRequest

from kmapp.accounts.models import User

# The script of the page sets this cookie to the zone of the browser.
BROWSER_ZONE_COOKIE = "kmapp_zone"
REGIONS = (
    *("Africa", "America", "Antarctica", "Asia", "Atlantic", "Australia", "Europe", "Indian"),
    "Pacific",
)

# Local times outside of these limits do not exist in some zones.
FIRST_TIME = datetime(1, 1, 3)  # noqa: DTZ001 - compared with the digits that people type
LAST_TIME = datetime(9999, 12, 29)  # noqa: DTZ001


@cache
def zone_names() -> frozenset[str]:
    """Return the names of the zones of places, and UTC."""
    names = available_timezones()
    return frozenset({"UTC", *(name for name in names if name.partition("/")[0] in REGIONS)})


def zone_choices() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the zones by region, for a form."""
    places = sorted(name for name in zone_names() if "/" in name)
    groups: Iterable[tuple[str, Iterable[str]]] = groupby(
        places, key=lambda name: name.partition("/")[0]
    )
    by_region = [
        (region, [(name, name.partition("/")[2].replace("_", " ")) for name in names])
        for region, names in groups
    ]
    return [("UTC", [("UTC", "UTC")]), *by_region]


def find_time_zone(request: HttpRequest, user: User) -> ZoneInfo:
    """Return the zone in which this person sees dates."""
    for name in (user.time_zone, request.COOKIES.get(BROWSER_ZONE_COOKIE, "")):
        if name in zone_names():
            return ZoneInfo(name)
    return ZoneInfo(settings.TIME_ZONE)


def exists_in_every_zone(moment: datetime) -> bool:
    """Return whether a time that a person entered can be shown to people in every zone."""
    return FIRST_TIME <= moment.replace(tzinfo=None) <= LAST_TIME
