"""Learned rankings: what they were learned from, their evidence, and their status."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kmapp.accounts.permissions import Permission
from kmapp.errors import Conflict, Denied, Invalid
from kmapp.search.signal_weights import LEARNED_WEIGHTS
from kmapp.web.actor_names import list_actor_names
from kmapp.web.http import WebRequest, get_row_or_404, paginate, parse_reason
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_page, redirect_with_notice, render_part
from memory.actions.rankings import MIN_QUESTIONS, change_status, start_learning
from memory.models import Judgement, MemoryEntry, Ranking, RankingComparison
from memory.retrieval.learning.evaluation import MEASURES, is_certain
from memory.retrieval.learning.questions import list_labels, list_questions
from memory.retrieval.score_breakdown import PART_LABELS

INDEX, DETAIL = "memory/ranking/index.html", "memory/ranking/detail.html"
CONFIRM = "memory/ranking/confirm.html"
PAGE = 10  # questions
Status, Origin = Ranking.Status, RankingComparison.Origin
NOTICES = {
    Status.SHADOW: gettext_lazy("The ranking is in shadow. Agents still get the live results."),
    Status.ACTIVE: gettext_lazy("The ranking is active. Searches use it within seconds."),
    Status.RETIRED: gettext_lazy("The ranking is retired."),
    Status.DRAFT: gettext_lazy("The ranking is a draft again."),
}
ROLLED_BACK = gettext_lazy("Rolled back. Searches are ranked as before this ranking.")
OUTCOMES = {
    "better": gettext_lazy("Better on held-out questions"),
    "not_better": gettext_lazy("Not better on held-out questions, so there is no draft"),
    "too_few_questions": gettext_lazy("Too few questions"),
    "failed": gettext_lazy("Learning failed"),
}


@page_view("GET")
def rankings(request: WebRequest) -> HttpResponse:
    labels = list_labels(request.account_id)
    questions = list_questions(request.account_id, labels)
    counts = Counter(label.source for label in labels)
    rows = list(Ranking.objects.of(request.account_id).order_by("-number")[:50])
    context = {
        "sources": [
            {"label": source.label, "count": counts[source]} for source in Judgement.Source
        ],
        "questions": len(questions),
        "held_out": sum(each.is_held_out for each in questions),
        "missing": max(0, MIN_QUESTIONS - len(questions)),
        "least": MIN_QUESTIONS,
        "rows": [
            {
                "ranking": row,
                "outcome": _outcome(row),
                "recall": row.evaluation.get("measures", {}).get("R@10", {}),
            }
            for row in rows
        ],
        "is_learning": any(row.status == Status.LEARNING for row in rows),
        "names": list_actor_names([row.created_by for row in rows]),
    }
    return render(request, INDEX, context)


@page_view("POST", needs=Permission.EDIT)
def learn_ranking(request: WebRequest) -> HttpResponse:
    ranking = start_learning(request.account_id, request.actor)
    text = _("Learning started. The result is on this page in a few minutes.")
    return redirect_with_notice(request, text, "memory:ranking_detail", pk=ranking.pk)


@page_view("GET")
def ranking_detail(request: WebRequest, pk: UUID) -> HttpResponse:
    """Show the evidence for a ranking, and what it changes question by question."""
    row = get_row_or_404(request, Ranking, pk)
    origin = request.GET.get("origin", "")
    if origin not in Origin.values:
        origin = Origin.SHADOW if row.status == Status.SHADOW else Origin.HELD_OUT
    comparisons = row.comparisons.filter(origin=origin).order_by("-changed", "-pk")
    page = paginate(request, comparisons, PAGE)
    measures = row.evaluation.get("measures", {})
    context = {
        "ranking": row,
        "outcome": _outcome(row),
        "is_certain": bool(measures) and is_certain(measures),
        "measures": [{"name": name, **measures[name]} for name in MEASURES if name in measures],
        "compared_with": row.evaluation.get("compared_with", 0),
        "weights": _weights(row),
        "origins": [{"value": one.value, "label": one.label} for one in Origin],
        "origin": origin,
        "page": page,
        "changes": _changes(request.account_id, list(page.object_list)),
        "may_promote": Permission.PROMOTE in request.permissions,
        "names": list_actor_names([row.created_by]),
    }
    return render_part(request, DETAIL, "changes", context)


@page_view("GET", "POST", get=Permission.PROMOTE)
def move_ranking(request: WebRequest, pk: UUID) -> HttpResponse:
    """Change the status. Only admins may change what agents get; a rollback needs confirmation."""
    row = get_row_or_404(request, Ranking, pk)
    to = request.POST.get("status") or request.GET.get("status", "")
    if to not in NOTICES:
        raise Invalid(_("Choose a status."))
    if request.method != "POST":
        return _render_confirmation(request, row, to)
    was_live = row.status == Status.ACTIVE
    if (was_live or to == Status.ACTIVE) and Permission.PROMOTE not in request.permissions:
        raise Denied(_("Only an admin of this account can promote or roll back a ranking."))
    measures = row.evaluation.get("measures", {})
    is_sure = row.activated_at or (measures and is_certain(measures))
    if to == Status.ACTIVE and not is_sure and request.POST.get("override") != "yes":
        raise Invalid(_("The interval includes no improvement. Confirm that you promote anyway."))
    change_status(row.account_id, pk, request.actor, to, parse_reason(request))
    undo = ""
    if was_live or to == Status.ACTIVE:
        back = Status.ACTIVE if was_live else Status.RETIRED
        undo = f"{reverse('memory:ranking_move', args=[pk])}?status={back}"
    text = str(ROLLED_BACK if was_live else NOTICES[Status(to)])
    url = reverse("memory:ranking_detail", args=[pk])
    return redirect_page(request, url, notice=text, undo=undo)


def _render_confirmation(request: WebRequest, row: Ranking, to: str) -> HttpResponse:
    """Render the confirmation of retiring the active ranking, with the one that replaces it."""
    if row.status != Status.ACTIVE or to != Status.RETIRED:
        raise Conflict(_("This ranking is no longer active. Open its page to see its status."))
    earlier = Ranking.objects.of(row.account_id)
    previous = earlier.filter(pk=row.replaced).first() if row.replaced else None
    return render(request, CONFIRM, {"ranking": row, "previous": previous})


def _outcome(row: Ranking) -> str:
    return str(OUTCOMES.get(row.evaluation.get("outcome", ""), ""))


def _weights(row: Ranking) -> list[dict[str, Any]]:
    if not row.weights:
        return []
    return [
        {
            "label": PART_LABELS[name],
            "shipped": LEARNED_WEIGHTS[name],
            "learned": row.weights.get(name, 0),
        }
        for name in LEARNED_WEIGHTS
    ]


def _changes(account_id: UUID, rows: Sequence[RankingComparison]) -> list[dict[str, Any]]:
    """Return the results that enter or leave the first ten, and those that were judged."""
    ids = {pk for row in rows for pk in {*row.before} ^ {*row.after}}
    ids |= {pk for row in rows for pk in row.relevant}
    entries = MemoryEntry.objects.of(account_id).in_bulk(list(ids))
    judged = Judgement.objects.of(account_id).filter(
        question__in=[row.question for row in rows], label=Judgement.Label.RELEVANT
    )
    relevant = set(judged.values_list("question", "entry_id"))
    return [_change(row, entries, relevant) for row in rows]


def _change(
    row: RankingComparison, entries: Mapping[UUID, MemoryEntry], judged: set[tuple[str, UUID]]
) -> dict[str, Any]:
    def line(pk: UUID) -> dict[str, Any]:
        is_relevant = pk in row.relevant or (row.question, pk) in judged
        ranks = [side.index(pk) + 1 if pk in side else None for side in (row.before, row.after)]
        entry = entries.get(pk)
        return {"entry": entry, "is_relevant": is_relevant, "before": ranks[0], "after": ranks[1]}

    moved = [pk for pk in (*row.after, *row.before) if pk in {*row.before} ^ {*row.after}]
    lines = [line(pk) for pk in dict.fromkeys([*row.relevant, *moved])]
    return {"row": row, "lines": [each for each in lines if each["entry"]]}
