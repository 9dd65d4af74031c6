"""Charts: scales and shapes, daily figures, samples of the installation, and their pages."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from kmapp.database.ids import first_uuid7, uuid7
from kmapp.management.demo.actors import DemoActors
from kmapp.web.charts import Chart, Series, round_up
from kmapp.web.models import DailyStatistics, SystemSample
from kmapp.web.statistics.daily import BACKFILL, RETENTION, build_charts, charts, record_days
from kmapp.web.statistics.demo import load_demo
from kmapp.web.statistics.system import take_sample
from kmapp.web.statistics.system_charts import PERIODS, build_system_charts
from tests import makers
from tests.web.proposals import propose

TODAY = datetime.now(UTC).date()


def chart(*values: list[float | None], **options: Any) -> Chart:
    series = [Series(label=f"s{n}", values=v, colour=n) for n, v in enumerate(values, 1)]
    labels = [str(n) for n in range(len(values[0]))]
    return Chart(title="Test", labels=labels, series=series, **options)


@pytest.mark.parametrize(
    ("value", "end"),
    [(0, 1), (0.3, 0.5), (1, 1), (1.1, 2), (7, 10), (10, 10), (11, 20), (4_200, 5_000)],
)
def test_scales_end_at_round_numbers(value: float, end: float) -> None:
    assert round_up(value) == end


def test_stacked_columns_fill_their_share_of_the_height() -> None:
    stacked = chart([1, 0, 3], [1, 2, None])
    marks = list(stacked.rectangles())
    assert stacked.maximum == 5
    assert [(mark.colour, mark.height) for mark in marks] == [(1, 32), (2, 32), (2, 64), (1, 96)]
    assert [mark.y for mark in marks] == [128, 96, 96, 64]


def test_a_line_has_a_gap_where_a_value_is_unknown() -> None:
    [line] = chart([1, None, 1, 0], kind="lines").lines()
    assert line.path == "M125.00 0.00h0 M625.00 0.00h0 L875.00 160.00"


def test_the_smallest_id_of_a_time_is_below_all_ids_made_later() -> None:
    assert first_uuid7(timezone.now() - timedelta(milliseconds=2)) < uuid7()
    assert uuid7() < first_uuid7(timezone.now() + timedelta(seconds=1))


@pytest.mark.django_db
def test_a_first_run_counts_a_month_and_later_runs_the_last_days(acme: Account) -> None:
    makers.write(acme, "The tea room opens at nine.", user_id="mira")
    assert record_days(acme.pk) == BACKFILL.days + 1
    assert record_days(acme.pk) == 1
    makers.write(acme, "The tea room closes at five.", user_id="mira")
    propose(acme, "The tea room opens on Sundays.")
    record_days(acme.pk)
    [row] = makers.rows(DailyStatistics, acme, day=TODAY)
    assert row.figures["memories_added"] == 3
    assert row.figures["memories_proposed"] == 1
    assert row.figures["commits"] >= 2
    assert row.figures["proposals_pending"] == 1
    [before] = makers.rows(DailyStatistics, acme, day=TODAY - timedelta(days=1))
    assert before.figures["memories_added"] == 0
    assert "proposals_pending" not in before.figures


@pytest.mark.django_db
def test_daily_figures_stay_after_the_end_of_the_day(acme: Account) -> None:
    yesterday = TODAY - timedelta(days=1)
    with acting(acme):
        DailyStatistics.objects.create(
            account=acme, day=yesterday, figures={"proposals_pending": 7, "commits": 99}
        )
        DailyStatistics.objects.create(account=acme, day=TODAY - RETENTION - timedelta(days=1))
    record_days(acme.pk)
    [row] = makers.rows(DailyStatistics, acme, day=yesterday)
    assert row.figures["proposals_pending"] == 7
    assert row.figures["commits"] == 0
    assert makers.count(DailyStatistics, acme) == 2


@pytest.mark.django_db
def test_demo_changes_no_recorded_day_of_an_account_in_use(acme: Account) -> None:
    recorded = {TODAY - timedelta(days=ago): {"commits": ago, "jobs_failed": 0} for ago in (2, 90)}
    with acting(acme):
        Account.objects.filter(pk=acme.pk).update(created_at=timezone.now() - timedelta(days=3))
        for day, figures in recorded.items():
            DailyStatistics.objects.create(account=acme, day=day, figures=figures)
        acme.refresh_from_db()
        actors = DemoActors.of(acme)
    load_demo(actors)
    rows = {row.day: row.figures for row in makers.rows(DailyStatistics, acme)}
    assert rows[TODAY - timedelta(days=90)] == {"commits": 90, "jobs_failed": 0}
    assert rows[TODAY - timedelta(days=2)].get("memories_added", 0) == 0
    assert rows[TODAY - timedelta(days=20)]["memories_added"] > 0


@pytest.mark.django_db
def test_charts_show_figures_of_their_own_account_only(acme: Account, rival: Account) -> None:
    makers.write(rival, "A secret of the rival.", user_id="rex")
    for account in (acme, rival):
        record_days(account.pk)
    with acting(acme):
        built = build_charts(acme.pk, charts)
    assert len(built) == len(charts)
    assert next(chart for chart in built if chart.id == "memories").is_empty
    with acting(rival):
        [memories] = build_charts(rival.pk, ["memories"])
    assert memories.series[0].values[-1] == 1


def sample(minutes_ago: int, **values: float) -> None:
    moment = timezone.now() - timedelta(minutes=minutes_ago)
    SystemSample.objects.create(created_at=moment, host="one", values=values)


@pytest.mark.django_db
def test_counters_become_rates_and_a_reset_counts_from_zero() -> None:
    sample(5, jobs_done=100, jobs_waiting=4)
    sample(4, jobs_done=160, jobs_waiting=2)
    sample(3, jobs_done=30, jobs_waiting=0)
    built = {chart.id: chart for chart in build_system_charts(PERIODS["1h"])}
    done = [value for value in built["throughput"].series[0].values if value is not None]
    assert [round(value) for value in done] == [60, 30]
    waiting = [value for value in built["queue"].series[0].values if value is not None]
    assert waiting == [4, 2, 0]


@pytest.mark.django_db
def test_a_sample_measures_every_value_and_drops_old_ones() -> None:
    sample(60 * 24 * 40, load=1)
    newest = take_sample()
    assert SystemSample.objects.count() == 1
    drawn = build_system_charts(PERIODS["1h"])
    assert all(chart.series for chart in drawn)
    assert newest.values["database_megabytes"] > newest.values["index_megabytes"] > 0
    assert {"jobs_waiting", "load", "memory_used_percent"} <= newest.values.keys()


@pytest.mark.django_db
def test_only_the_owner_of_the_installation_sees_its_charts(
    reviewer: Client, acme: Account
) -> None:
    take_sample()
    assert "chart-queue" not in reviewer.get(reverse("web:operations")).content.decode()
    owner = makers.member(acme, "olga", role="admin")
    User.objects.filter(pk=owner.pk).update(is_superuser=True)
    page = makers.signed_in(owner).get(reverse("web:operations") + "?period=1h").content.decode()
    assert "chart-queue" in page
    assert "chart-database" in page


@pytest.mark.django_db
def test_trends_take_few_queries(reviewer: Client, acme: Account, max_queries: Any) -> None:
    record_days(acme.pk)
    with max_queries(10):
        assert reviewer.get(reverse("web:trends")).status_code == 200
