"""Demo data of statistics: a month of daily figures for a new account."""

import math
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.acting import acting
from kmapp.management.demo.actors import DemoActors
from kmapp.web.models import DailyStatistics
from kmapp.web.statistics.daily import record_day, record_days

DAYS = 30
LABEL = _("Statistics")
SUMMARY = """\
A month of daily figures for the charts of {account}.

  Trends of memories, reviews, ratings and calls:
    {home}
"""
# By figure: the average on a working day, and the phase of its wave in days.
FIGURES = {
    "memories_added": (42, 0),
    "memories_proposed": (9, 2),
    "memories_approved": (7, 3),
    "memories_rejected": (1.4, 5),
    "memories_forgotten": (0.8, 1),
    "ratings_positive": (11, 1),
    "ratings_neutral": (2.2, 4),
    "ratings_negative": (1.6, 6),
    "commits": (58, 0),
    "jobs_failed": (0.3, 3),
    "proposals_pending": (12, 2),
    "review_hours": (3.5, 4),
    "topics_active": (18, 0),
    "topics_draft": (5, 3),
}
DECIMAL = {"review_hours"}  # figures with decimals


def list_data(account_id: UUID) -> QuerySet[DailyStatistics]:
    rows = DailyStatistics.objects.of(account_id)
    return rows.filter(day__lt=datetime.now(UTC).date(), figures__memories_added__gt=0)


def load_demo(actors: DemoActors) -> str:
    """Fill the days before the account existed, and count again the demo data of these days.

    Recorded days of an account in use are not changed.
    """
    account_id = actors.account.pk
    created = actors.account.created_at.astimezone(UTC).date()
    today = datetime.now(UTC).date()
    for ago in range(1, DAYS + 1):
        day = today - timedelta(days=ago)
        if day < created:
            with acting(account_id):
                _fill_day(record_day(account_id, day, is_today=False), ago)
    record_days(account_id)
    return SUMMARY.format(account=actors.account.name, home=actors.here)


def _fill_day(row: DailyStatistics, ago: int) -> None:
    """Set those figures of the day that are missing or 0."""
    row.figures |= {name: row.figures.get(name) or _compute_figure(name, ago) for name in FIGURES}
    row.save(update_fields=["figures"])


def _compute_figure(name: str, ago: int) -> float:
    """Return a figure that grows over the month, with a weekly wave."""
    average, phase = FIGURES[name]
    wave = 1 + 0.35 * math.sin(2 * math.pi * (ago + phase) / 7)
    value = average * wave * (1.25 - 0.5 * ago / DAYS)
    return round(value, 2) if name in DECIMAL else round(value)
