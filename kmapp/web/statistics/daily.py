"""Daily figures of an account. Apps register a function that counts one day, with its charts."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal
from uuid import UUID

from django.utils import formats
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from kmapp.accounts.acting import acting
from kmapp.database.steady_clock import steady_time
from kmapp.web.charts import Chart, Series
from kmapp.web.models import DailyStatistics

BACKFILL = timedelta(days=30)  # how far back the first run of a new installation counts
RETENTION = timedelta(days=400)

Figures = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """A day in UTC: `start` is included, `end` is not. `is_today` allows figures of the present."""

    account_id: UUID
    day: date
    start: datetime
    end: datetime
    is_today: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyChart:
    """A chart over days; the keys of `series` are names of figures."""

    name: str
    title: str | Promise
    series: Mapping[str, str | Promise]
    unit: str | Promise = ""
    kind: Literal["columns", "lines"] = "columns"


Counter = Callable[[Day], Figures]

_counters: list[Counter] = []
charts: dict[str, DailyChart] = {}


def daily_figures(*defined: DailyChart) -> Callable[[Counter], Counter]:
    """Register a function that returns figures of one day, and the charts that show them.

    The function runs inside `acting`. A figure that it leaves out is unknown for that day.
    """

    def register(count: Counter) -> Counter:
        _counters.append(count)
        charts.update({chart.name: chart for chart in defined})
        return count

    return register


def record_days(account_id: UUID) -> int:
    """Record the days since the last recorded one, which may have been incomplete, and today.

    Figures of the present, such as the size of a queue, are known for today only. Return the number
    of recorded days.
    """
    today = datetime.now(UTC).date()
    with acting(account_id):
        rows = DailyStatistics.objects.of(account_id)
        rows.filter(day__gt=today).delete()  # the clock went back since
        last = rows.order_by("-day").values_list("day", flat=True).first()
        rows.filter(day__lt=steady_time().date() - RETENTION).delete()
    first = max(last, today - BACKFILL) if last else today - BACKFILL
    days = [first + timedelta(days=n) for n in range((today - first).days + 1)]
    for day in days:
        with acting(account_id):  # one transaction each, so that a long backfill holds no lock
            record_day(account_id, day, is_today=day == today)
    return len(days)


def record_day(account_id: UUID, day: date, *, is_today: bool) -> DailyStatistics:
    """Count one day, and store its figures. Inside `acting`."""
    start = datetime.combine(day, time(), UTC)
    period = Day(
        account_id=account_id,
        day=day,
        start=start,
        end=start + timedelta(days=1),
        is_today=is_today,
    )
    figures: dict[str, float] = {}
    for count in _counters:
        figures |= count(period)
    rows = DailyStatistics.objects.of(account_id)
    stored = rows.filter(day=day).values_list("figures", flat=True).first() or {}
    # Figures of the present that were stored on the day itself are kept when it is counted again.
    row, _created = DailyStatistics.objects.update_or_create(
        account_id=account_id, day=day, defaults={"figures": stored | figures}
    )
    return row


def build_charts(account_id: UUID, names: Iterable[str], days: int = 30) -> list[Chart]:
    """Build charts of the last days from one query. A day without a record is a gap."""
    today = datetime.now(UTC).date()
    dates = [today - timedelta(days=ago) for ago in reversed(range(days))]
    rows = DailyStatistics.objects.of(account_id).filter(day__gte=dates[0])
    figures: dict[date, Figures] = dict(rows.values_list("day", "figures"))
    labels = [formats.date_format(day, "MONTH_DAY_FORMAT") for day in dates]
    return [
        Chart(
            id=name,
            title=str(charts[name].title),
            unit=str(charts[name].unit),
            kind=charts[name].kind,
            labels=labels,
            label_heading=_("Day"),
            series=[
                Series(
                    label=str(label),
                    values=[figures.get(day, {}).get(figure) for day in dates],
                    colour=colour,
                )
                for colour, (figure, label) in enumerate(charts[name].series.items(), 1)
            ],
        )
        for name in names
    ]
