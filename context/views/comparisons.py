"""Two policies compared over recorded calls: asked for, followed, read."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django import forms
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_safe

from context.actions.comparisons import Summary, Wished, start, summary
from context.actions.replays import Changes
from context.actions.retention import days_of
from context.models import ContextComparison, ContextDifference, ContextSettings
from context.reports import labels
from context.reports.call_report import SECTIONS
from context.reports.chart_data import columns
from context.reports.comparison_totals import Bucket, Distribution
from context.views.policy_forms import SideForm, in_words
from kmapp.web.actor_names import list_actor_names
from kmapp.web.forms import Styled
from kmapp.web.http import WebRequest, account_id_for, actor_for, respond_unless_unchanged
from kmapp.web.notices import notify_success
from kmapp.web.page_access import reviewer_required

INDEX = "context/comparisons/index.html"
NEW = "context/comparisons/new.html"
DETAIL = "context/comparisons/detail.html"
PAGE = 50
OFFERED = [(number, f"{number:,}") for number in (100, 500, 1_000, 5_000)]
# Tabs of the individual differences.
SHOWN: Mapping[str, str | Promise] = {
    "changed": _("Changed"),
    "losing_evidence": _("Lose evidence"),
    "no_longer_fitting": _("No longer fit"),
    "larger": _("Take more"),
    "all": _("All"),
}
SIDES: Mapping[str, str | Promise] = {**labels.SIDE, **labels.POLICY}
TONES = ("fewer", "same", "more")  # of the distribution's columns


class WhichForm(Styled):
    """Which calls are made again."""

    calls = forms.TypedChoiceField(
        label=_("The last calls"), choices=OFFERED, initial=1_000, coerce=int
    )
    agent_id = forms.CharField(label=_("Agent"), max_length=200, required=False)
    model = forms.CharField(label=_("Model"), max_length=100, required=False)


@require_safe
@reviewer_required
def comparisons(request: WebRequest) -> HttpResponse:
    """Newest first."""
    rows = ContextComparison.objects.of(account_id_for(request)).order_by("-created_at", "-pk")
    page = Paginator(rows, PAGE).get_page(request.GET.get("page"))
    found = list(page.object_list)
    context = {
        "page": page,
        "rows": [
            {"made": made, "left": told(made.left), "right": told(made.right)} for made in found
        ],
        "names": list_actor_names(made.asked_by for made in found),
        "days": days_of(ContextSettings.objects.here(account_id_for(request))),
    }
    return render(request, INDEX, context)


@require_http_methods(["GET", "HEAD", "POST"])
@reviewer_required
def compare(request: WebRequest) -> HttpResponse:
    """A worker compares; the comparison's own page tells how far it is."""
    account_id = account_id_for(request)
    said = request.POST if request.method == "POST" else None
    policy = ContextSettings.objects.here(account_id).assembly().body()
    which = WhichForm(said)
    left, right = (
        SideForm(said, prefix=name, shown=policy, spoken=spoken)
        for name, spoken in (("left", _now("One side")), ("right", _now("The other side")))
    )
    if said is None or not all([which.is_valid(), left.is_valid(), right.is_valid()]):
        status = HTTPStatus.OK if said is None else HTTPStatus.UNPROCESSABLE_ENTITY
        context = {"which": which, "rows": list(zip(left, right, strict=True))}
        return render(request, NEW, context, status=status)
    wished = Wished(
        left=Changes(**left.wished()), right=Changes(**right.wished()), **which.cleaned_data
    )
    made = start(account_id, actor_for(request), wished)
    notify_success(
        request, _now("The calls are made again. Nothing is sent, and nothing changes by it.")
    )
    return redirect("context:comparison", pk=made.pk)


@require_safe
@reviewer_required
def comparison(request: WebRequest, pk: UUID) -> HttpResponse:
    """The sums, the distribution, and every call that is different."""
    made = _found(request, pk)
    show = request.GET.get("show", "changed")
    show = show if show in SHOWN else "changed"
    rows = ContextDifference.objects.of(made.account_id).listed(made, show)
    listed = rows.select_related("report")
    # What a call's row shows stands in columns: reports are long.
    listed = listed.defer("report__report", "report__tool_tokens", "report__called_tools")
    page = Paginator(listed, PAGE).get_page(request.GET.get("page"))
    context = {
        **_progress(made),
        "left": told(made.left),
        "right": told(made.right),
        "show": show,
        "tabs": SHOWN,
        "page": page,
        "rows": [_row(row) for row in page.object_list],
        "names": list_actor_names([made.asked_by]),
    }
    return render(request, DETAIL, context)


@require_safe
@reviewer_required
def progress(request: WebRequest, pk: UUID) -> HttpResponse:
    """How far it is and what came out so far: asked for again and again."""
    return respond_unless_unchanged(
        request, render(request, f"{DETAIL}#sums", _progress(_found(request, pk)))
    )


def _found(request: WebRequest, pk: UUID) -> ContextComparison:
    return get_object_or_404(ContextComparison.objects.of(account_id_for(request)), pk=pk)


def _progress(made: ContextComparison) -> dict[str, Any]:
    found = summary(made)
    return {"made": made, "found": found, **_drawn(found.distribution), "sums": _sums(found)}


def _sums(found: Summary) -> list[dict[str, Any]]:
    spread = found.distribution
    lines: list[dict[str, Any]] = [
        {"label": _("Tokens"), "before": spread.before, "after": spread.after},
        {
            "label": _("Messages, texts and tools left out"),
            "before": found.dropped_before,
            "after": found.dropped_after,
        },
    ]
    if found.cost_before is not None and found.cost_after is not None:
        money = {"before": found.cost_before, "after": found.cost_after, "money": True}
        lines.append({"label": _("Cost of the input"), **money})
    return [{**line, "change": line["after"] - line["before"]} for line in lines]


def _drawn(spread: Distribution) -> dict[str, Any]:
    """The distribution as columns with their words."""
    drawn, _most = columns([{bucket.tone: bucket.calls} for bucket in spread.buckets], TONES)
    return {
        "columns": [
            {"bucket": bucket, "label": _label(bucket), "column": column}
            for bucket, column in zip(spread.buckets, drawn, strict=True)
        ]
    }


def _label(bucket: Bucket) -> str:
    """In percent."""
    if bucket.least is None:
        return f"< {bucket.most:.0f}"
    if bucket.most is None:
        return f"≥ {bucket.least:+.0f}"
    return f"{bucket.least:+.0f} … {bucket.most:+.0f}"


def _row(row: ContextDifference) -> dict[str, Any]:
    told_of = row.differences
    sections = [
        {"label": labels.SECTIONS[name], **told_of["tokens"][name]}
        for name in SECTIONS
        if told_of["tokens"][name]["before"] != told_of["tokens"][name]["after"]
    ]
    actions = [
        {
            "label": label,
            "actions": [str(labels.ACTIONS.get(a, a)) for a in told_of["actions"][side]],
        }
        for side, label in (("before", _("One side")), ("after", _("The other side")))
    ]
    lists = [
        {"label": label, "items": told_of[name]}
        for name, label in (
            ("evidence_lost", _("Evidence lost")),
            ("evidence_gained", _("Evidence gained")),
            ("tools_lost", _("Tools lost")),
            ("tools_gained", _("Tools gained")),
        )
        if told_of[name]
    ]
    return {
        "row": row,
        "sections": sections,
        "actions": actions,
        "lists": lists,
        "messages_lost": len(told_of["messages_lost"]),
        "percent": 100 * row.change / row.before if row.before else 0.0,
    }


def told(side: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """What is different on a side, as label and value."""
    given = {**{name: side.get(name) for name in labels.SIDE}, **side["policy"]}
    return [
        (str(SIDES[name]), in_words(name, value))
        for name, value in given.items()
        if value is not None
    ]
