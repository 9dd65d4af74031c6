"""The time zone of pages: the person's choice, else the browser's, else TIME_ZONE.

It applies to what pages show and what people type there. The API and exports use UTC.
"""

from collections.abc import Iterable
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
