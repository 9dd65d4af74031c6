"""Page of costs over time and possible savings."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from context.models import ContextSettings
from context.reports import labels as words
from context.reports.call_report import SECTIONS
from context.reports.chart_data import OTHER_COLOUR, Column, build_columns
from context.reports.costs import (
    DEFAULT_DAYS,
    Part,
    Period,
    calculate_totals,
    list_days,
    list_parts,
)
from context.reports.savings import Saving, find_savings
from kmapp.web.forms import Styled
from kmapp.web.http import WebRequest
from kmapp.web.page_access import page_view

PAGE = 50
COLOURS = 7  # parts that have a colour of their own in the drawing; the eighth is the rest
PERIODS = (7, 30, 90)
TABS: Mapping[str, str | Promise] = {
    "section": _("By section"),
    "agent": _("By agent"),
    "tool": _("By tool"),
    "model": _("By model"),
    "variant": _("By variant"),
}
NOUNS: Mapping[str, str | Promise] = {
    "section": _("Section"),
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
    period = Period.of(ContextSettings.objects.get_or_default(request.account_id), filters)
    totals_ = calculate_totals(period)
    context = {
        "form": form,
        "by": by,
        "noun": NOUNS[by],
        "tabs": TABS,
        "period": period,
        "totals": totals_,
        "per_call": totals_.tokens // totals_.calls if totals_.calls else 0,
        "narrowed": bool(period.agent_id or period.model),
    }
    if totals_.calls:
        context |= _build_details(period, by, totals_.tokens, request.GET.get("page"))
        context["savings"] = [_describe_saving(saving) for saving in find_savings(period, totals_)]
    return render(request, "context/costs/index.html", context)


def _build_details(period: Period, by: str, tokens: int, number: str | None) -> dict[str, Any]:
    first_page, count = list_parts(period, by, limit=PAGE)
    page = Paginator(range(count), PAGE).get_page(number)
    start = page.start_index() - 1 if count else 0
    page_parts = list_parts(period, by, limit=PAGE, offset=start)[0] if start else first_page
    # Sections have the colours that they have in a call.
    names = list(SECTIONS) if by == "section" else [part.name for part in first_page[:COLOURS]]
    days = list_days(period, by, names)
    columns_, largest = build_columns([day.tokens for day in days], names)
    return {
        "page": page,
        "rows": [_row(part, by, names, tokens, period) for part in page_parts],
        "columns": [_build_column(column, by) for column in columns_],
        "legend": _legend(names, by, others=count > len(names)),
        "days": [{"day": day, "tokens": sum(day.tokens.values())} for day in days],
        "most": largest,
    }


def _row(part: Part, by: str, names: Sequence[str], tokens: int, period: Period) -> dict[str, Any]:
    filter_name = FILTERS.get(by)
    query = {"agent_id": period.agent_id, "model": period.model}
    if filter_name and part.name:
        query[filter_name] = part.name
    query_string = urlencode({name: value for name, value in query.items() if value})
    return {
        "part": part,
        "label": _label(part.name, by),
        "ours": by == "section",
        "colour": names.index(part.name) + 1 if part.name in names else OTHER_COLOUR,
        "share": 100 * part.tokens / tokens,
        "each": part.tokens / part.calls,
        "url": f"{reverse('context:calls')}?{query_string}" if filter_name and part.name else "",
    }


def _label(name: str, by: str) -> str:
    if by == "section":
        return str(words.SECTIONS[name])
    return name or str(_("unspecified"))


def _legend(names: Sequence[str], by: str, *, others: bool) -> list[dict[str, Any]]:
    page_parts = [
        {"colour": colour, "label": _label(name, by)} for colour, name in enumerate(names, 1)
    ]
    return (
        [*page_parts, {"colour": OTHER_COLOUR, "label": _("all others")}] if others else page_parts
    )


def _build_column(column: Column, by: str) -> dict[str, Any]:
    labels = [
        _("all others") if piece.name is None else _label(piece.name, by) for piece in column.pieces
    ]
    return {"column": column, "pieces": list(zip(column.pieces, labels, strict=True))}


def _describe_saving(saving: Saving) -> dict[str, Any]:
    return {"saving": saving, "share": 100 * saving.share}
