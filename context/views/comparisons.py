"""Pages of comparisons: create, progress and results."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from context.actions.comparisons import (
    ComparisonRequest,
    ComparisonTotals,
    start_comparison,
    summarise_comparison,
)
from context.actions.input_retention import inputs_days
from context.actions.replays import Changes
from context.models import ContextComparison, ContextDifference, ContextSettings
from context.reports import report_labels
from context.reports.call_report import SECTIONS
from context.reports.chart_geometry import build_columns
from context.reports.token_change_distribution import Bucket, Distribution
from context.views.policy_forms import SideForm, format_value
from kmapp.accounts.permissions import Permission
from kmapp.web.actor_names import list_actor_names
from kmapp.web.forms import Styled
from kmapp.web.http import WebRequest, get_row_or_404, paginate
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice, render_polled

INDEX = "context/comparisons/index.html"
NEW = "context/comparisons/new.html"
DETAIL = "context/comparisons/detail.html"
CALL_CHOICES = [(number, f"{number:,}") for number in (100, 500, 1_000, 5_000)]
# Tabs of the individual differences.
TABS: Mapping[str, str | Promise] = {
    "changed": _("Changed"),
    "losing_evidence": _("Losing evidence"),
    "no_longer_fitting": _("Now over budget"),
    "larger": _("More tokens"),
    "all": _("All"),
}
SIDES: Mapping[str, str | Promise] = {**report_labels.SIDE, **report_labels.POLICY}


class SelectionForm(Styled):
    calls = forms.TypedChoiceField(
        label=_("Number of recent calls"), choices=CALL_CHOICES, initial=1_000, coerce=int
    )
    agent_id = forms.CharField(label=_("Agent"), max_length=200, required=False)
    model = forms.CharField(label=_("Model"), max_length=100, required=False)


@page_view("GET")
def comparisons(request: WebRequest) -> HttpResponse:
    rows = ContextComparison.objects.of(request.account_id).order_by("-created_at", "-pk")
    page = paginate(request, rows)
    page_rows = list(page.object_list)
    context = {
        "page": page,
        "rows": [
            {
                "comparison": comparison,
                "left": describe_side(comparison.left),
                "right": describe_side(comparison.right),
            }
            for comparison in page_rows
        ],
        "names": list_actor_names(comparison.asked_by for comparison in page_rows),
        "days": inputs_days(ContextSettings.objects.get_or_default(request.account_id)),
    }
    return render(request, INDEX, context)


@page_view("GET", "POST", get=Permission.READ)
def compare(request: WebRequest) -> HttpResponse:
    """Create a comparison; a worker runs it."""
    account_id = request.account_id
    data = request.POST if request.method == "POST" else None
    policy = ContextSettings.objects.get_or_default(account_id).assembly_policy().body()
    selection = SelectionForm(data)
    left, right = (
        SideForm(data, prefix=name, current=policy, label=label)
        for name, label in (("left", gettext("Baseline")), ("right", gettext("Candidate")))
    )
    if data is None or not all([selection.is_valid(), left.is_valid(), right.is_valid()]):
        status = HTTPStatus.OK if data is None else HTTPStatus.UNPROCESSABLE_ENTITY
        context = {"which": selection, "rows": list(zip(left, right, strict=True))}
        return render(request, NEW, context, status=status)
    comparison_request = ComparisonRequest(
        left=Changes(**left.to_changes()),
        right=Changes(**right.to_changes()),
        **selection.cleaned_data,
    )
    comparison = start_comparison(account_id, request.actor, comparison_request)
    return redirect_with_notice(
        request,
        gettext("Replay started. No requests are sent to a model and no data changes."),
        "context:comparison",
        pk=comparison.pk,
    )


@page_view("GET")
def comparison(request: WebRequest, pk: UUID) -> HttpResponse:
    comparison = get_row_or_404(request, ContextComparison, pk)
    show = request.GET.get("show", "changed")
    show = show if show in TABS else "changed"
    rows = ContextDifference.objects.of(comparison.account_id).of_kind(comparison, show)
    rows = rows.select_related("report")
    # The rows of calls use columns only, because reports are long.
    rows = rows.defer("report__report", "report__tool_tokens", "report__called_tools")
    page = paginate(request, rows)
    context = {
        **_progress(comparison),
        "left": describe_side(comparison.left),
        "right": describe_side(comparison.right),
        "show": show,
        "tabs": TABS,
        "page": page,
        "rows": [_row(row) for row in page.object_list],
        "names": list_actor_names([comparison.asked_by]),
    }
    return render(request, DETAIL, context)


@page_view("GET")
def progress(request: WebRequest, pk: UUID) -> HttpResponse:
    """Return the polled part of the page."""
    return render_polled(
        request, f"{DETAIL}#sums", _progress(get_row_or_404(request, ContextComparison, pk))
    )


def _progress(comparison: ContextComparison) -> dict[str, Any]:
    totals = summarise_comparison(comparison)
    return {
        "comparison": comparison,
        "totals": totals,
        **_build_chart(totals.distribution),
        "sums": _list_totals(totals),
    }


def _list_totals(totals: ComparisonTotals) -> list[dict[str, Any]]:
    distribution = totals.distribution
    lines: list[dict[str, Any]] = [
        {"label": _("Tokens"), "before": distribution.before, "after": distribution.after},
        {
            "label": _("Messages, texts and tools left out"),
            "before": totals.dropped_before,
            "after": totals.dropped_after,
        },
    ]
    if totals.cost_before is not None and totals.cost_after is not None:
        money = {"before": totals.cost_before, "after": totals.cost_after, "money": True}
        lines.append({"label": _("Input cost"), **money})
    return [{**line, "change": line["after"] - line["before"]} for line in lines]


def _build_chart(distribution: Distribution) -> dict[str, Any]:
    columns = build_columns([bucket.calls for bucket in distribution.buckets])
    return {
        "columns": [
            {"bucket": bucket, "label": _label(bucket), "column": column}
            for bucket, column in zip(distribution.buckets, columns, strict=True)
        ]
    }


def _label(bucket: Bucket) -> str:
    if bucket.least is None:
        return f"< {bucket.most:.0f}"
    if bucket.most is None:
        return f"≥ {bucket.least:+.0f}"
    return f"{bucket.least:+.0f} … {bucket.most:+.0f}"


def _row(row: ContextDifference) -> dict[str, Any]:
    differences = row.differences
    sections = [
        {"label": report_labels.SECTIONS[name], **differences["tokens"][name]}
        for name in SECTIONS
        if differences["tokens"][name]["before"] != differences["tokens"][name]["after"]
    ]
    actions = [
        {
            "label": label,
            "actions": [str(report_labels.ACTIONS.get(a, a)) for a in differences["actions"][side]],
        }
        for side, label in (("before", _("Baseline")), ("after", _("Candidate")))
    ]
    lists = [
        {"label": label, "items": differences[name]}
        for name, label in (
            ("evidence_lost", _("Evidence lost")),
            ("evidence_gained", _("Evidence gained")),
            ("tools_lost", _("Tools lost")),
            ("tools_gained", _("Tools gained")),
        )
        if differences[name]
    ]
    return {
        "row": row,
        "sections": sections,
        "actions": actions,
        "lists": lists,
        "messages_lost": len(differences["messages_lost"]),
        "percent": 100 * row.change / row.before if row.before else 0.0,
    }


def describe_side(side: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the changes of a side as labels and values."""
    changes = {**{name: side.get(name) for name in report_labels.SIDE}, **side["policy"]}
    return [
        (str(SIDES[name]), format_value(name, value))
        for name, value in changes.items()
        if value is not None
    ]
