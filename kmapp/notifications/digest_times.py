"""When a digest is due: each day or each Monday, at an hour of the person's time zone. Pure."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo


def find_last_due(now: datetime, zone: ZoneInfo, hour: int, *, weekly: bool) -> datetime:
    """Return the latest time up to `now` at which a digest was due."""
    local = now.astimezone(zone)
    due = local.replace(hour=hour, minute=0, second=0, microsecond=0)
    if weekly:
        due -= timedelta(days=due.weekday())
    # Of the clock on the wall: a day may have 23 or 25 hours.
    return due - timedelta(days=7 if weekly else 1) if due > local else due
