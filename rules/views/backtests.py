"""Backtests of a rule: start, progress, result."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from kmapp.web.http import WebRequest, actor_for, parse_row_number, respond_unless_unchanged
from kmapp.web.notices import notify_success
from kmapp.web.page_access import reviewer_required
from rules.actions.backtests import start
from rules.views.history import OFFERED, last_backtest
from rules.views.rules import DETAIL, get_rule_or_404


@require_POST
@reviewer_required
def start_backtest(request: WebRequest, pk: UUID) -> HttpResponse:
    """Start a backtest in a worker; the rule's page displays its progress."""
    row = get_rule_or_404(request, pk)
    size = parse_row_number(request.POST.get("decisions", "")) or OFFERED[1]
    start(row.account_id, actor_for(request), pk, size)
    notify_success(request, _("Backtest started. It does not change any decision."))
    return redirect("rules:rule", pk=pk)


@require_safe
@reviewer_required
def progress(request: WebRequest, pk: UUID) -> HttpResponse:
    """How far the last one is: asked for again and again."""
    row = get_rule_or_404(request, pk)
    return respond_unless_unchanged(
        request, render(request, f"{DETAIL}#backtest", {"backtest": last_backtest(row)})
    )
