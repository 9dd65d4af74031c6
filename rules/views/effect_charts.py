"""Charts of a rule in shadow: decisions it matched and would have changed, and their feedback."""

from datetime import date, timedelta
from itertools import accumulate
from typing import Any

from django.db.models import Count, Q
from django.db.models.functions import TruncDate
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from kmapp.search.wilson_interval import Interval
from kmapp.web.charts import Chart, Series
from rules.models import Rule
from rules.promotion.evidence import BAD, GOOD, has_feedback, list_observations

DAYS = 30


def build_effect_charts(rule: Rule) -> list[Chart]:
    """Build both charts from one query; none for a rule that was never in shadow."""
    if not rule.shadowed_at:
        return []
    today = timezone.localdate()
    days = [today - timedelta(days=ago) for ago in reversed(range(DAYS))]
    counts = _count_by_day(rule, days[0])
    rows = [counts.get(day, {}) for day in days]
    labels = [date_format(day, "MONTH_DAY_FORMAT") for day in days]
    effect = Chart(
        id="effect",
        title=_("Decisions per day"),
        labels=labels,
        label_heading=_("Day"),
        series=[
            Series(
                label=_("would have changed"),
                values=[row.get("all_changed", 0) for row in rows],
                colour=2,
            ),
            Series(
                label=_("matched without a change"),
                values=[row.get("all_unchanged", 0) for row in rows],
                colour=1,
            ),
        ],
    )
    return [effect, _build_outcome_chart(rows, labels)]


def _count_by_day(rule: Rule, first: date) -> dict[date, dict[str, Any]]:
    rows = list_observations(rule).annotate(day=TruncDate("created_at")).filter(day__gte=first)
    # In Django, a name of an aggregate hides the column of that name in later filters.
    counted = (
        rows.order_by()
        .values("day")
        .annotate(
            all_unchanged=Count("pk", filter=Q(matched=True, changed=False)),
            all_changed=Count("pk", filter=Q(changed=True)),
            good=Count("pk", filter=Q(changed=True) & Q(has_feedback(GOOD))),
            bad=Count("pk", filter=Q(changed=True) & Q(has_feedback(BAD))),
        )
    )
    return {row["day"]: dict(row) for row in counted}


def _build_outcome_chart(days: list[dict[str, Any]], labels: list[str]) -> Chart:
    """Chart the share of bad outcomes among the decisions that the rule would have changed.

    Each day includes the days before it. A bad outcome of such a decision is evidence for the rule.
    """
    good = accumulate(day.get("good", 0) for day in days)
    bad = accumulate(day.get("bad", 0) for day in days)
    intervals = [Interval(b, b + g) for g, b in zip(good, bad, strict=True)]
    lines = {
        _("share"): [one.share for one in intervals],
        _("lower bound (95 %)"): [one.low for one in intervals],
        _("upper bound (95 %)"): [one.high for one in intervals],
    }
    series = [
        Series(
            label=label,
            values=[
                round(100 * value, 1) if one.total else None
                for value, one in zip(values, intervals, strict=True)
            ],
            colour=colour,
        )
        for colour, (label, values) in enumerate(lines.items(), 1)
    ]
    return Chart(
        id="outcome",
        title=_("Bad outcomes among the decisions it would have changed"),
        unit="%",
        kind="lines",
        labels=labels,
        label_heading=_("Day"),
        series=series,
    )
