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
from kmapp.search.wilson_interval import Interval
from kmapp.web.actor_names import list_actor_names
from kmapp.web.http import WebRequest, get_row_or_404
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice
from rules.actions.conflicts import list_live_conflicts
from rules.actions.promotion_requests import (
    approve_request,
    find_pending_request,
    is_void,
    request_or_promote,
    withdraw_request,
)
from rules.actions.state_changes import StateChangeResult, digest_reviewed_content
from rules.editing.rendering import CONFLICT_LABELS, format_json, render_rule
from rules.models import Rule, RulePromotion
from rules.promotion.evidence import (
    PromotionEvidence,
    list_changed_observations,
    list_tool_changes,
    load_evidence,
    load_feedback,
)
from rules.promotion.gate import evaluate_gate, load_settings
from rules.views import history
from rules.views.rules import build_state_change, get_editions_or_404

TEMPLATE = "rules/promotion/index.html"
MIN_WHOLE_PERCENT = 10  # smaller percentages have decimals


@page_view("GET", "POST", get=Permission.READ)
def promotion(request: WebRequest, pk: UUID) -> HttpResponse:
    """Display the evidence; a POST promotes the rule or requests a second approval."""
    row, editions = get_editions_or_404(request.account_id, pk)
    if request.method != "POST":
        return _render_page(request, row, editions)
    book = load_settings(row.account_id)
    if not book.second_person and Permission.PROMOTE not in request.permissions:
        raise Denied(_("Only an admin of this account can promote or change active rules."))
    override = Permission.PROMOTE in request.permissions and request.POST.get("override") == "yes"
    change = build_state_change(
        request, pk, seen=request.POST.get("seen", ""), may_override=override
    )
    try:
        with transaction.atomic():  # an error on the page must leave no partial changes
            result = request_or_promote(change)
    except (Invalid, Conflict) as error:
        return _render_page(request, *get_editions_or_404(row.account_id, pk), error)
    if isinstance(result, StateChangeResult):
        return _redirect_promoted(request, result)
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
    change = build_state_change(request, request_row.rule_id)
    with transaction.atomic():
        result = approve_request(change, pk)
    return _redirect_promoted(request, result)


@page_view("POST")
def withdraw_promotion(request: WebRequest, pk: UUID) -> HttpResponse:
    """Withdraw a request: allowed for its author and for admins."""
    request_row = get_row_or_404(request, RulePromotion, pk)
    if request_row.asked_by != str(request.actor) and Permission.PROMOTE not in request.permissions:
        raise Denied(_("Only the person who requested the promotion or an admin can withdraw it."))
    with transaction.atomic():
        withdraw_request(build_state_change(request, request_row.rule_id), pk)
    return redirect_with_notice(
        request,
        _("Request withdrawn. The rule stays in shadow."),
        "rules:promotion",
        pk=request_row.rule_id,
    )


def _redirect_promoted(request: WebRequest, result: StateChangeResult) -> HttpResponse:
    rule = result.rule
    undo_url = f"{reverse('rules:rollback', args=[rule.pk])}?version={rule.version}"
    return redirect_with_notice(
        request,
        _("“%(name)s” is now active.") % {"name": rule.name},
        "rules:rule",
        pk=rule.pk,
        undo=undo_url,
    )


def _render_page(
    request: WebRequest, row: Rule, editions: list[Rule], error: DomainError | None = None
) -> HttpResponse:
    book, rule_evidence = load_settings(row.account_id), load_evidence(row)
    request_row = find_pending_request(row)
    live_conflicts, inspected = list_live_conflicts(row)
    others = {pk for one in live_conflicts for pk in (one.winner, *one.losers)} - {row.pk}
    rules = Rule.objects.of(row.account_id).in_bulk(others)
    actor = str(request.actor)
    context = {
        "rule": row,
        **render_rule(row),
        "live": history.compare_with_active(row, editions),
        "seen": digest_reviewed_content(row, editions),
        "book": book,
        "evidence": rule_evidence,
        "intervals": _build_intervals(rule_evidence, book.max_against),
        "gate": evaluate_gate(rule_evidence, book),
        "conflicts": [
            {
                "path": one.path,
                "label": CONFLICT_LABELS.get(one.code, one.code),
                "wins": one.winner == row.pk,
                "others": [rules[pk] for pk in (one.winner, *one.losers) if pk in rules],
                "times": one.times,
                "decision": one.decision,
            }
            for one in live_conflicts
        ],
        "checked": inspected,
        "turns": list_tool_changes(row),
        "differing": _list_changed_decisions(row),
        "promotion_request": request_row,
        "void": request_row is not None and is_void(request_row, row, editions),
        "is_mine": request_row is not None and request_row.asked_by == actor,
        "is_admin": Permission.PROMOTE in request.permissions,
        "may_send": Permission.EDIT in request.permissions
        and (Permission.PROMOTE in request.permissions or book.second_person),
        "error": error,
        "names": list_actor_names([request_row.asked_by]) if request_row else {},
    }
    status = HTTPStatus(error.status) if error else HTTPStatus.OK
    return render(request, TEMPLATE, context, status=status)


def _list_changed_decisions(row: Rule) -> list[dict[str, Any]]:
    """Return decisions that would have differed, with their feedback."""
    changed = list_changed_observations(row)
    feedback_by_decision = load_feedback(
        row.account_id, [observation.decision_id for observation in changed]
    )
    return [
        {
            "seen": observation,
            "after": format_json(observation.after),
            "tool": observation.after.get("selected"),
            "feedback": feedback_by_decision.get(observation.decision_id, []),
        }
        for observation in changed
    ]


def _build_intervals(rule_evidence: PromotionEvidence, max_against: float) -> list[dict[str, Any]]:
    """Return the shares with their 95 % confidence intervals, for a chart."""
    return [
        _build_interval(_("matched"), rule_evidence.match),
        _build_interval(_("would have changed"), rule_evidence.change),
        _build_interval(_("opposing feedback"), rule_evidence.against, limit=max_against),
    ]


def _build_interval(
    label: str, interval: Interval, *, limit: float | None = None
) -> dict[str, Any]:
    low, high = 100 * interval.low, 100 * interval.high
    return {
        "label": label,
        "hits": interval.hits,
        "total": interval.total,
        "share": _format_percent(100 * interval.share),
        "between": f"{_format_percent(low)}–{_format_percent(high)} %",
        "low": low,
        "width": max(high - low, 1),
        "limit": None if limit is None else 100 * limit,
    }


def _format_percent(share: float) -> str:
    """Format a percentage with more decimals for small values: 97, 3.1, 0.06."""
    decimals = 0 if share >= MIN_WHOLE_PERCENT or not share else 1 if share >= 1 else 2
    return number_format(round(share, decimals), decimals)
