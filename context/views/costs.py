"""Page of costs over time and possible savings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import urlencode

from django import forms
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from context.models import ContextSettings
from context.reports import report_labels as words
from context.reports.call_report import SECTIONS
from context.reports.costs import (
    DEFAULT_DAYS,
    SIZES,
    CostShare,
    Period,
    TimeBucket,
    calculate_totals,
    count_sizes,
    list_buckets,
    list_parts,
)
from context.reports.possible_savings import find_savings
from kmapp.web.charts import OTHER_COLOUR, Chart, Series
from kmapp.web.forms import Styled
from kmapp.web.http import WebRequest
from kmapp.web.page_access import page_view
from kmapp.web.statistics.daily import build_charts

PAGE = 50
COLOURS = 7  # parts that have a colour of their own in the drawing; the eighth is the rest
PERIODS = (1, 7, 30, 90, 365)
MAX_DAYS = 92  # of charts with one column a day
MIN_DAYS = 7  # of charts that have one value a day
TITLES = {"hour": _("Tokens per hour"), "day": _("Tokens per day"), "week": _("Tokens per week")}
TABS: Mapping[str, str | Promise] = {
    "section": _("By section"),
    "session": _("By session"),
    "agent": _("By agent"),
    "tool": _("By tool"),
    "model": _("By model"),
    "variant": _("By variant"),
}
NOUNS: Mapping[str, str | Promise] = {
    "section": _("Section"),
    "session": _("Session"),
    "agent": _("Agent"),
    "tool": _("Tool"),
    "model": _("Model"),
    "variant": _("Variant"),
}
FILTERS = {"agent": "agent_id", "model": "model", "variant": "variant"}  # of the list of calls


def _periods() -> list[tuple[int, str]]:
    return [(days, ngettext("%(n)d day", "%(n)d days", days) % {"n": days}) for days in PERIODS]


class CostsForm(Styled):
    days = forms.TypedChoiceField(label=_("Period"), choices=_periods, coerce=int, required=False)
    agent_id = forms.CharField(label=_("Agent"), max_length=200, required=False)
    model = forms.CharField(label=_("Model"), max_length=100, required=False)
    by = forms.ChoiceField(choices=TABS.items(), required=False, widget=forms.HiddenInput)


@page_view("GET")
def costs(request: WebRequest) -> HttpResponse:
    form = CostsForm({"days": DEFAULT_DAYS, "by": "section"} | request.GET.dict())
    filters = form.cleaned_data if form.is_valid() else {}
    by = filters.get("by") or "section"
    settings = ContextSettings.objects.get_or_default(request.account_id)
    period = Period.of(settings, filters)
    period = replace(period, bucket=_bucket(period.days))
    totals_ = calculate_totals(period)
    context = {
        "form": form,
        "by": by,
        "noun": NOUNS[by],
        "tabs": TABS,
        "totals": totals_,
        "per_call": totals_.tokens // totals_.calls if totals_.calls else 0,
        "calls_of_period": build_calls_url(period),
        "narrowed": bool(period.agent_id or period.model),
    }
    if totals_.calls:
        context |= _build_details(period, by, totals_.tokens, request.GET.get("page"))
        context["savings"] = [
            {"saving": saving, "share": 100 * saving.share}
            for saving in find_savings(period, totals_)
        ]
    return render(request, "context/costs/index.html", context)


def _bucket(days: int) -> Literal["hour", "day", "week"]:
    if days == 1:
        return "hour"
    return "day" if days <= MAX_DAYS else "week"


def _build_details(period: Period, by: str, tokens: int, number: str | None) -> dict[str, Any]:
    first_page, count = list_parts(period, by, limit=PAGE)
    page = Paginator(range(count), PAGE).get_page(number)
    start = page.start_index() - 1 if count else 0
    page_parts = list_parts(period, by, limit=PAGE, offset=start)[0] if start else first_page
    # Sections have the colours that they have in a call.
    names = list(SECTIONS) if by == "section" else [part.name for part in first_page[:COLOURS]]
    buckets = list_buckets(period, by, names)
    return {
        "page": page,
        "rows": [_row(part, by, names, tokens, period) for part in page_parts],
        "chart": _build_tokens_chart(period, buckets, names, by, others=count > len(names)),
        "charts": [
            _build_cost_chart(period, buckets),
            _build_size_chart(count_sizes(period)),
            *build_charts(period.account_id, ["tokens"], max(period.days, MIN_DAYS)),
        ],
    }


def _labels(period: Period, buckets: Sequence[TimeBucket]) -> list[str]:
    form = "TIME_FORMAT" if period.bucket == "hour" else "MONTH_DAY_FORMAT"
    return [date_format(bucket.start, form) for bucket in buckets]


def _build_tokens_chart(
    period: Period, buckets: Sequence[TimeBucket], names: Sequence[str], by: str, *, others: bool
) -> Chart:
    groups: list[str | None] = [*names, None] if others else [*names]
    series = [
        Series(
            label=str(_("all others")) if name is None else _label(name, by),
            values=[bucket.tokens.get(name, 0) for bucket in buckets],
            colour=OTHER_COLOUR if name is None else colour,
        )
        for colour, name in enumerate(groups, 1)
    ]
    return Chart(
        id="tokens-by-time",
        title=str(TITLES[period.bucket]),
        labels=_labels(period, buckets),
        series=series,
    )


def _build_cost_chart(period: Period, buckets: Sequence[TimeBucket]) -> Chart:
    costs = [bucket.cost for bucket in buckets]
    series = [Series(label=str(_("cost")), values=costs, colour=1)]
    return Chart(id="cost", title=str(_("Cost")), labels=_labels(period, buckets), series=series)


def _build_size_chart(counts: Sequence[int]) -> Chart:
    labels = [f"< {intcomma(size)}" for size in SIZES] + [f"≥ {intcomma(SIZES[-1])}"]
    series = [Series(label=str(_("calls")), values=counts, colour=3)]
    return Chart(
        id="sizes",
        title=str(_("Calls by size")),
        unit=str(_("tokens")),
        label_heading=str(_("Tokens")),
        labels=labels,
        series=series,
    )


def _row(
    part: CostShare, by: str, names: Sequence[str], tokens: int, period: Period
) -> dict[str, Any]:
    return {
        "part": part,
        "label": _label(part.name, by),
        "ours": by == "section",
        "colour": names.index(part.name) + 1 if part.name in names else OTHER_COLOUR,
        "share": 100 * part.tokens / tokens,
        "each": part.tokens / part.calls,
        "url": _build_url(part, by, period) if part.name else "",
    }


def _build_url(part: CostShare, by: str, period: Period) -> str:
    if by == "session":
        return f"{reverse('context:session')}?{urlencode({'run': part.name})}"
    return build_calls_url(period, {FILTERS[by]: part.name}) if by in FILTERS else ""


def build_calls_url(period: Period, narrower: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the URL of the list of calls with the filters of a period and these."""
    filters = {"agent_id": period.agent_id, "model": period.model, **narrower}
    query = {name: value for name, value in filters.items() if value}
    query["since"] = period.first_day.isoformat()
    return f"{reverse('context:calls')}?{urlencode(query)}"


def _label(name: str, by: str) -> str:
    if by == "section":
        return str(words.SECTIONS[name])
    return name or str(_("unspecified"))
