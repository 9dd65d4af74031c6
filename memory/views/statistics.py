"""Daily figures of memories, reviews, ratings and topics, and their charts."""

from django.db.models import Count
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from kmapp.database.raw_sql import fetch_all
from kmapp.web.statistics.daily import DailyChart, Day, Figures, daily_figures
from memory.models import MemoryEntry, MemoryRating, MemoryVersion

EVENTS = {
    "memories_added": MemoryVersion.Event.ADD,
    "memories_approved": MemoryVersion.Event.APPROVE,
    "memories_rejected": MemoryVersion.Event.REJECT,
    "memories_forgotten": MemoryVersion.Event.FORGET,
}
# Seconds between the proposal and the decision about it, of the decisions of one day; without
# topics and the memories that proposals were merged into.
REVIEW_SECONDS = """
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM v.created_at - e.created_at))
  FROM memory_memoryversion v JOIN memory_memoryentry e
    ON e.account_id = v.account_id AND e.id = v.entry_id
 WHERE v.account_id = %s AND v.created_at >= %s AND v.created_at < %s
   AND v.event IN ('APPROVE', 'REJECT', 'MERGE') AND e.kind <> 'topic'
   AND NOT (v.event = 'MERGE' AND v.state->>'status' = 'active')
"""


@daily_figures(
    DailyChart(
        name="memories",
        title=_("Memories per day"),
        series={
            "memories_added": _("added"),
            "memories_proposed": _("proposed"),
            "memories_approved": _("approved"),
            "memories_rejected": _("rejected"),
            "memories_forgotten": _("forgotten"),
        },
    ),
    DailyChart(
        name="review_time",
        title=_("Median time to review"),
        unit=_("hours"),
        kind="lines",
        series={"review_hours": _("time to review")},
    ),
    DailyChart(
        name="backlog",
        title=_("Pending proposals"),
        unit=_("at the end of the day"),
        kind="lines",
        series={"proposals_pending": pgettext_lazy("proposals", "pending")},
    ),
)
def count_memories(day: Day) -> Figures:
    versions = MemoryVersion.objects.of(day.account_id).filter(
        created_at__gte=day.start, created_at__lt=day.end
    )
    counts = dict(versions.order_by().values_list("event").annotate(n=Count("pk")))
    figures = {name: float(counts.get(event, 0)) for name, event in EVENTS.items()}
    proposed = versions.filter(
        event=MemoryVersion.Event.ADD, state__status=MemoryEntry.Status.PROPOSED
    )
    figures["memories_proposed"] = float(proposed.count())
    [[seconds]] = fetch_all(REVIEW_SECONDS, [day.account_id, day.start, day.end])
    if seconds is not None:
        figures["review_hours"] = round(seconds / 3600, 2)
    if day.is_today:
        waiting = MemoryEntry.objects.of(day.account_id).awaiting_review()
        figures["proposals_pending"] = float(waiting.count())
    return figures


@daily_figures(
    DailyChart(
        name="ratings",
        title=_("Ratings of recalled memories"),
        series={
            "ratings_positive": _("useful"),
            "ratings_neutral": _("neutral"),
            "ratings_negative": _("outdated or wrong"),
        },
    )
)
def count_ratings(day: Day) -> Figures:
    ratings = MemoryRating.objects.of(day.account_id).filter(
        created_at__gte=day.start, created_at__lt=day.end
    )
    counts = dict(ratings.order_by().values_list("outcome").annotate(n=Count("pk")))
    return {
        "ratings_positive": counts.get("positive", 0),
        "ratings_neutral": counts.get("neutral", 0),
        "ratings_negative": counts.get("negative", 0) + counts.get("very_negative", 0),
    }


@daily_figures(
    DailyChart(
        name="topics",
        title=_("Topics"),
        unit=_("at the end of the day"),
        kind="lines",
        series={"topics_active": _("active"), "topics_draft": _("drafts")},
    )
)
def count_topics(day: Day) -> Figures:
    if not day.is_today:
        return {}
    rows = MemoryEntry.objects.of(day.account_id).filter(kind=MemoryEntry.Kind.TOPIC)
    counts = dict(rows.order_by().values_list("status").annotate(n=Count("pk")))
    return {
        "topics_active": counts.get(MemoryEntry.Status.ACTIVE, 0),
        "topics_draft": counts.get(MemoryEntry.Status.DRAFT, 0),
    }
