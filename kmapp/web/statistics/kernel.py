"""Daily figures of the kernel: failed jobs and commits."""

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from kmapp.database.ids import first_uuid7
from kmapp.ledger.models import Commit
from kmapp.outbox.models import Delivery
from kmapp.web.statistics.daily import DailyChart, Day, Figures, daily_figures


@daily_figures(
    DailyChart(
        name="failed_jobs",
        title=_("Failed jobs"),
        series={"jobs_failed": pgettext_lazy("jobs", "failed")},
    )
)
def count_failed_jobs(day: Day) -> Figures:
    failed = Delivery.objects.of(day.account_id).dead()
    return {"jobs_failed": failed.filter(failed_at__gte=day.start, failed_at__lt=day.end).count()}


@daily_figures(
    DailyChart(name="commits", title=_("Commits per day"), series={"commits": _("commits")})
)
def count_commits(day: Day) -> Figures:
    """Count by id: a UUIDv7 begins with its time, and the key of commits has them in order."""
    commits = Commit.objects.of(day.account_id)
    return {
        "commits": commits.filter(
            pk__gte=first_uuid7(day.start), pk__lt=first_uuid7(day.end)
        ).count()
    }
