"""The list of rules by state, and the page of a rule."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Subquery
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from kmapp.accounts.permissions import Permission
from kmapp.errors import Conflict, Invalid
from kmapp.web.actor_names import list_actor_names
from kmapp.web.http import WebRequest, paginate, parse_reason, parse_version
from kmapp.web.page_access import page_view
from kmapp.web.responses import format_api_command, redirect_page, render_part, render_polled
from kmapp.web.success_messages import notify_success
from rules.actions.promotion_requests import find_pending_request
from rules.actions.state_changes import (
    StateChange,
    StateChangeResult,
    change_state,
    check_transition,
    find_previous_edition,
    roll_back_rule,
)
from rules.editing.rendering import format_json, render_effects, render_rule
from rules.models import Rule, RulePromotion
from rules.promotion.evidence import load_evidence
from rules.views import history
from rules.views.effect_charts import build_effect_charts
from rules.views.filters import RuleFilter

FIRST_RULE = (
    '{"name": "No deletions at night", "if": {"hour": {"$gte": 22}}, '
    '"then": {"tool": {"deny": ["delete_order"]}}}'
)
INDEX, DETAIL = "rules/rules/index.html", "rules/rules/detail.html"
State = Rule.State


@page_view("GET")
def rules(request: WebRequest) -> HttpResponse:
    """List rules, last changed first."""
    account_id = request.account_id
    rows = Rule.objects.of(account_id).select_related("statistics", "suggestion")
    narrowed = RuleFilter(request.GET, queryset=rows.order_by("-updated_at", "-pk"))
    page = paginate(request, narrowed.qs)
    context = {
        "filter": narrowed,
        "page": page,
        "rows": [{"rule": rule, "effects": render_effects(rule.then)} for rule in page],
        "narrowed": narrowed.is_narrowed,
        "tabs": _build_tabs(request),
        "waiting": _list_pending_requests(account_id),
        "first_command": format_api_command(request, "rules:api_rules", FIRST_RULE),
    }
    return render_part(request, INDEX, "list", context)


@page_view("GET")
def counts(request: WebRequest) -> HttpResponse:
    """Render the counts of rules by state, for polling."""
    return render_polled(request, f"{INDEX}#tabs", {"tabs": _build_tabs(request)})


def _build_tabs(request: WebRequest) -> list[dict[str, Any]]:
    rows = Rule.objects.of(request.account_id).order_by()
    counted = dict(rows.values_list("state").annotate(Count("pk")))
    selected_state = request.GET.get("state", "")
    tabs = [{"state": "", "label": _("All"), "count": sum(counted.values())}]
    tabs += [{"state": v, "label": label, "count": counted.get(v, 0)} for v, label in State.choices]
    return [{**tab, "open": tab["state"] == selected_state} for tab in tabs]


def _list_pending_requests(account_id: UUID) -> list[RulePromotion]:
    """Return promotions that need a second approval."""
    rows = RulePromotion.objects.of(account_id).undecided()
    return list(rows.select_related("rule").order_by("created_at")[:5])


@page_view("GET")
def rule(request: WebRequest, pk: UUID) -> HttpResponse:
    row, editions = get_editions_or_404(request.account_id, pk)
    steps, older = history.list_versions(row)
    pending_request = find_pending_request(row)
    actors = [row.created_by, *(step["state"].actor for step in steps)]
    context = {
        "rule": row,
        **render_rule(row),
        "json": format_json(row.definition()),
        "live": history.compare_with_active(row, editions),
        "editions": sorted(editions, key=lambda one: -one.edition),
        "steps": steps,
        "older": older,
        "promotion_request": pending_request,
        "moves": _list_transitions(request, row),
        "evidence": load_evidence(row) if row.shadowed_at else None,
        "charts": build_effect_charts(row),
        "backtest": history.find_last_backtest(row),
        "tries": history.BACKTEST_SIZES,
        "names": list_actor_names(
            [*actors, *([pending_request.asked_by] if pending_request else [])]
        ),
    }
    return render(request, DETAIL, context)


def get_editions_or_404(account_id: UUID, pk: UUID) -> tuple[Rule, list[Rule]]:
    """Return a rule and all its editions, with their statistics and suggestions. One query."""
    rows = Rule.objects.of(account_id)
    lineage = rows.filter(pk=pk).values("lineage")
    editions = rows.filter(lineage=Subquery(lineage)).select_related("suggestion", "statistics")
    by_id = {edition.pk: edition for edition in editions}
    if pk not in by_id:
        raise Http404
    return by_id[pk], list(by_id.values())


def _list_transitions(request: WebRequest, row: Rule) -> list[dict[str, Any]]:
    """Return the states that this person may choose, except those with a page of their own."""
    labels = {
        (State.DRAFT, State.SHADOW): ("ghost", _("Move to shadow")),
        (State.DISABLED, State.SHADOW): ("ghost", _("Move to shadow")),
        (State.ACTIVE, State.SHADOW): ("ghost", _("Move back to shadow")),
        (State.SHADOW, State.DRAFT): ("circle-dashed", _("Move to draft")),
        (State.DISABLED, State.DRAFT): ("circle-dashed", _("Move to draft")),
    }
    current = State(row.state)
    if current == State.ACTIVE and Permission.PROMOTE not in request.permissions:
        return []
    states = [to for to in State if current.may_become(to) and to != State.ACTIVE]
    transitions = [(to, *labels.get((current, to), ("ban", _("Disable")))) for to in states]
    return [{"to": to.value, "icon": icon, "label": label} for to, icon, label in transitions]


@page_view("GET", "POST", get=Permission.PROMOTE)
def move_rule(request: WebRequest, pk: UUID) -> HttpResponse:
    """Move the rule to another state, except to active; an active one after confirmation."""
    to = request.POST.get("to") or request.GET.get("to", "")
    if to not in State.values or to == State.ACTIVE:
        raise Invalid(_("Choose a state. To make the rule active, use its promotion page."))
    if request.method != "POST":
        return _render_confirmation(request, pk, to)
    return _redirect_changed(request, lambda: change_state(build_state_change(request, pk), to))


@page_view("GET", "POST", get=Permission.PROMOTE)
def roll_back(request: WebRequest, pk: UUID) -> HttpResponse:
    """Return the rule to shadow, and reactivate the edition that it replaced."""
    if request.method != "POST":
        return _render_confirmation(request, pk)
    return _redirect_changed(request, lambda: roll_back_rule(build_state_change(request, pk)))


def _render_confirmation(request: WebRequest, pk: UUID, to: str = "") -> HttpResponse:
    """Render the confirmation of a move of an active rule to `to`, or without it of a rollback."""
    row, editions = get_editions_or_404(request.account_id, pk)
    if row.state != State.ACTIVE:
        raise Conflict(_("This rule is no longer active. Open its page to see its state."))
    if to:
        check_transition(row, to)
    context = {"rule": row, "to": to, "previous": find_previous_edition(row, editions)}
    return render(request, "rules/rules/confirm.html", context)


def _redirect_changed(request: WebRequest, change: Callable[[], StateChangeResult]) -> HttpResponse:
    with transaction.atomic():
        result = change()
    message = {
        State.DRAFT: _("The rule is now a draft."),
        State.SHADOW: _("The rule is now in shadow. Its effects are recorded but not applied."),
        State.DISABLED: _("The rule is now disabled."),
    }[State(result.rule.state)]
    if result.replaced:
        message = _("Rolled back. “%(name)s”, edition %(n)d, is active again.") % {
            "name": result.replaced.name,
            "n": result.replaced.edition,
        }
    notify_success(request, message)
    url = reverse("rules:rule", args=[result.rule.pk])
    return redirect_page(request, url)


def build_state_change(request: WebRequest, pk: UUID, **more: Any) -> StateChange:
    """Return this person's decision about the version they saw."""
    version = parse_version(request.POST.get("version") or request.GET.get("version") or "")
    return StateChange(
        account_id=request.account_id,
        rule_id=pk,
        actor=request.actor,
        version=version,
        reason=parse_reason(request),
        may_change_active=Permission.PROMOTE in request.permissions,
        **more,
    )
