"""Charts of the samples of the installation over an hour, a day or a month."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from django.utils import formats, timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from kmapp.web.charts import Chart, Series, Value
from kmapp.web.models import SystemSample
from kmapp.web.statistics.system import COUNTERS

Values = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartPeriod:
    label: str | Promise
    length: timedelta
    bucket: timedelta
    time_format: str


PERIODS = {
    "1h": ChartPeriod(
        label=_("1 hour"), length=timedelta(hours=1), bucket=timedelta(minutes=1), time_format="H:i"
    ),
    "24h": ChartPeriod(
        label=_("24 hours"),
        length=timedelta(hours=24),
        bucket=timedelta(minutes=15),
        time_format="H:i",
    ),
    "30d": ChartPeriod(
        label=_("30 days"),
        length=timedelta(days=30),
        bucket=timedelta(hours=12),
        time_format="SHORT_DATETIME_FORMAT",
    ),
}
DEFAULT_PERIOD = "24h"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemChart:
    """A chart of values by name. `value` computes one from the averages and rates of a bucket."""

    name: str
    title: str | Promise
    series: Mapping[str | Promise, Callable[[Values], Value]]
    unit: str | Promise = ""


def _build_average(name: str) -> Callable[[Values], Value]:
    return lambda values: values.get(name)


def _build_per_minute(name: str) -> Callable[[Values], Value]:
    return lambda values: 60 * values[name] if name in values else None


def _build_ratio(numerator: str, denominator: str, factor: float) -> Callable[[Values], Value]:
    def divide(values: Values) -> Value:
        total = values.get(denominator)
        return factor * values[numerator] / total if total else None

    return divide


CHARTS = (
    SystemChart(
        name="queue",
        title=_("Jobs in the queue"),
        series={
            _("waiting"): _build_average("jobs_waiting"),
            _("running"): _build_average("jobs_running"),
        },
    ),
    SystemChart(
        name="age",
        title=_("Age of the oldest job"),
        unit=_("seconds"),
        series={_("oldest job"): _build_average("oldest_job_seconds")},
    ),
    SystemChart(
        name="throughput",
        title=_("Throughput"),
        unit=_("jobs per minute"),
        series={
            pgettext_lazy("jobs", "done"): _build_per_minute("jobs_done"),
            pgettext_lazy("jobs", "failed"): _build_per_minute("jobs_failed"),
        },
    ),
    SystemChart(
        name="latency",
        title=_("Latency"),
        unit=_("milliseconds"),
        series={
            _("requests"): _build_ratio("request_seconds", "requests", 1000),
            _("embeddings"): _build_ratio("embedding_seconds", "embedding_calls", 1000),
        },
    ),
    SystemChart(
        name="errors",
        title=_("Errors"),
        unit=_("per minute"),
        series={
            _("server errors"): _build_per_minute("server_errors"),
            _("provider errors"): _build_per_minute("provider_errors"),
        },
    ),
    SystemChart(
        name="host",
        title=_("Memory in use"),
        unit="%",
        series={pgettext_lazy("RAM", "memory"): _build_average("memory_used_percent")},
    ),
    SystemChart(name="load", title=_("Load average"), series={_("load"): _build_average("load")}),
    SystemChart(
        name="database",
        title=_("Database size"),
        unit="MB",
        series={
            _("database"): _build_average("database_megabytes"),
            _("indexes"): _build_average("index_megabytes"),
        },
    ),
)


def build_system_charts(period: ChartPeriod) -> list[Chart]:
    """Build all charts from the samples of the period. A bucket without samples is a gap."""
    count = period.length // period.bucket
    start = timezone.now() - period.length
    buckets = _aggregate_samples(
        SystemSample.objects.filter(created_at__gte=start).order_by("created_at"), start, period
    )
    times = [timezone.localtime(start + period.bucket * (n + 1)) for n in range(count)]
    labels = [formats.date_format(moment, period.time_format) for moment in times]
    return [_build_chart(chart, labels, buckets) for chart in CHARTS]


def _build_chart(chart: SystemChart, labels: Sequence[str], buckets: Mapping[int, Values]) -> Chart:
    series = [
        Series(
            label=str(label),
            values=[value(buckets.get(n, {})) for n in range(len(labels))],
            colour=colour,
        )
        for colour, (label, value) in enumerate(chart.series.items(), 1)
    ]
    return Chart(
        id=chart.name,
        title=str(chart.title),
        unit=str(chart.unit),
        labels=labels,
        series=series,
        kind="lines",
    )


def _aggregate_samples(
    samples: Iterable[SystemSample], start: datetime, period: ChartPeriod
) -> dict[int, dict[str, float]]:
    """Return by bucket the average of each gauge, and each counter's increase per second."""
    gauges: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    by_host: dict[str, list[SystemSample]] = defaultdict(list)
    for sample in samples:
        bucket = (sample.created_at - start) // period.bucket
        for name, value in sample.values.items():
            if name not in COUNTERS:
                gauges[bucket][name].append(value)
        by_host[sample.host].append(sample)
    buckets = {
        bucket: {name: sum(values) / len(values) for name, values in named.items()}
        for bucket, named in gauges.items()
    }
    for host_samples in by_host.values():
        _add_rates(buckets, host_samples, start, period)
    return buckets


def _add_rates(
    buckets: dict[int, dict[str, float]],
    samples: Sequence[SystemSample],
    start: datetime,
    period: ChartPeriod,
) -> None:
    """Add the rates of one host. A counter that fell was reset and counts from zero."""
    increases: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    seconds: dict[int, float] = defaultdict(float)
    for before, after in pairwise(samples):
        bucket = (after.created_at - start) // period.bucket
        seconds[bucket] += (after.created_at - before.created_at).total_seconds()
        for name in COUNTERS.keys() & before.values.keys() & after.values.keys():
            grown = after.values[name] - before.values[name]
            increases[bucket][name] += grown if grown >= 0 else after.values[name]
    for bucket, named in increases.items():
        for name, increase in named.items():
            rate = increase / seconds[bucket] if seconds[bucket] else 0.0
            buckets[bucket][name] = buckets[bucket].get(name, 0.0) + rate
