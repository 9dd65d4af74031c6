"""Promotion of a rule: evidence, gate and second person."""

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from kmapp.accounts.permissions import Permission
from kmapp.errors import Conflict, Denied, DomainError, Invalid
from kmapp.search.confidence import Interval
from kmapp.web.actor_names import list_actor_names
from kmapp.web.http import WebRequest, get_row_or_404
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice
from rules.actions.conflicts import conflicts_with_live
from rules.actions.promotions import approve, request_or_promote, waiting_for, withdraw
from rules.actions.states import Moved, seen_sha256
from rules.editing.rendering import CODES, condition_lines, effects, pretty
from rules.models import Rule, RulePromotion
from rules.promotion.evidence import (
    Evidence,
    book_of,
    evidence_of,
    feedback_on,
    gate_of,
    last_changed,
    turns_of,
)
from rules.views import history
from rules.views.rules import decision_of, get_editions_or_404

TEMPLATE = "rules/promotion/index.html"
EVEN = 10  # per cent, from which on whole ones will do


@page_view("GET", "POST", get=Permission.READ)
def promotion(request: WebRequest, pk: UUID) -> HttpResponse:
    """Display the evidence; a POST promotes the rule or requests a second approval."""
    row, editions = get_editions_or_404(request.account_id, pk)
    if request.method != "POST":
        return _page(request, row, editions)
    book = book_of(row.account_id)
    if not book.second_person and Permission.PROMOTE not in request.permissions:
        raise Denied(_("Only an admin of this account can promote or change active rules."))
    override = Permission.PROMOTE in request.permissions and request.POST.get("override") == "yes"
    decision = decision_of(request, pk, seen=request.POST.get("seen", ""), may_override=override)
    try:
        with transaction.atomic():  # an error on the page must leave no partial changes
            result = request_or_promote(decision)
    except (Invalid, Conflict) as error:
        return _page(request, *get_editions_or_404(row.account_id, pk), error)
    if isinstance(result, Moved):
        return _render_counts(request, result)
    return redirect_with_notice(
        request,
        _("Promotion requested. Another admin of this account must approve it."),
        "rules:promotion",
        pk=pk,
    )


@page_view("POST")
def approve_promotion(request: WebRequest, pk: UUID) -> HttpResponse:
    """Approve a promotion exactly as the first person requested it."""
    request_row = get_row_or_404(request, RulePromotion, pk)
    decision = decision_of(request, request_row.rule_id)
    with transaction.atomic():
        moved = approve(decision, pk)
    return _render_counts(request, moved)


@page_view("POST")
def withdraw_promotion(request: WebRequest, pk: UUID) -> HttpResponse:
    """Withdraw a request: allowed for its author and for admins."""
    request_row = get_row_or_404(request, RulePromotion, pk)
    if request_row.asked_by != str(request.actor) and Permission.PROMOTE not in request.permissions:
        raise Denied(_("Only the person who requested the promotion or an admin can withdraw it."))
    with transaction.atomic():
        withdraw(decision_of(request, request_row.rule_id), pk)
    return redirect_with_notice(
        request,
        _("Request withdrawn. The rule stays in shadow."),
        "rules:promotion",
        pk=request_row.rule_id,
    )


def _render_counts(request: WebRequest, moved: Moved) -> HttpResponse:
    rule = moved.rule
    undo_url = f"{reverse('rules:rollback', args=[rule.pk])}?version={rule.version}"
    return redirect_with_notice(
        request,
        _("“%(name)s” is now active.") % {"name": rule.name},
        "rules:rule",
        pk=rule.pk,
        undo=undo_url,
    )


def _page(
    request: WebRequest, row: Rule, editions: list[Rule], error: DomainError | None = None
) -> HttpResponse:
    book, rule_evidence = book_of(row.account_id), evidence_of(row)
    request_row, void = waiting_for(row)
    clashes, inspected = conflicts_with_live(row)
    others = {pk for one in clashes for pk in (one.winner, *one.losers)} - {row.pk}
    rules = Rule.objects.of(row.account_id).in_bulk(others)
    mine = str(request.actor)
    context = {
        "rule": row,
        "lines": condition_lines(row.when),
        "exceptions": [condition_lines(one) for one in row.exceptions],
        "effects": effects(row.then),
        "live": history.against(row, editions),
        "seen": seen_sha256(row, editions),
        "book": book,
        "evidence": rule_evidence,
        "intervals": _intervals(rule_evidence, book.max_against),
        "gate": gate_of(rule_evidence, book),
        "conflicts": [
            {
                "path": one.path,
                "words": CODES.get(one.code, one.code),
                "wins": one.winner == row.pk,
                "others": [rules[pk] for pk in (one.winner, *one.losers) if pk in rules],
                "times": one.times,
                "decision": one.decision,
            }
            for one in clashes
        ],
        "checked": inspected,
        "turns": turns_of(row),
        "differing": _differing(row),
        "promotion_request": request_row,
        "void": void,
        "is_mine": request_row is not None and request_row.asked_by == mine,
        "is_admin": Permission.PROMOTE in request.permissions,
        "may_send": Permission.EDIT in request.permissions
        and (Permission.PROMOTE in request.permissions or book.second_person),
        "error": error,
        "names": list_actor_names([request_row.asked_by]) if request_row else {},
    }
    status = HTTPStatus(error.status) if error else HTTPStatus.OK
    return render(request, TEMPLATE, context, status=status)


def _differing(row: Rule) -> list[dict[str, Any]]:
    """Return decisions that would have differed, with their feedback."""
    changed = last_changed(row)
    feedback_by_decision = feedback_on(row.account_id, [seen.decision_id for seen in changed])
    return [
        {
            "seen": seen,
            "after": pretty(seen.after),
            "tool": seen.after.get("selected"),
            "feedback": feedback_by_decision.get(seen.decision_id, []),
        }
        for seen in changed
    ]


def _intervals(rule_evidence: Evidence, most_against: float) -> list[dict[str, Any]]:
    """Return the shares with their 95 % confidence intervals, for a chart."""
    return [
        _drawn(_("matched"), rule_evidence.match),
        _drawn(_("would have changed"), rule_evidence.change),
        _drawn(_("opposing feedback"), rule_evidence.against, limit=most_against),
    ]


def _drawn(label: str, interval: Interval, *, limit: float | None = None) -> dict[str, Any]:
    low, high = 100 * interval.low, 100 * interval.high
    return {
        "label": label,
        "hits": interval.hits,
        "total": interval.total,
        "share": _percent(100 * interval.share),
        "between": f"{_percent(low)}–{_percent(high)} %",
        "low": low,
        "width": max(high - low, 1),
        "limit": None if limit is None else 100 * limit,
    }


def _percent(share: float) -> str:
    """Format a percentage with more decimals for small values: 97, 3.1, 0.06."""
    decimals = 0 if share >= EVEN or not share else 1 if share >= 1 else 2
    return number_format(round(share, decimals), decimals)
