"""Backtests of a rule: start, progress, result."""

from uuid import UUID

from django.http import HttpResponse
from django.utils.translation import gettext as _

from kmapp.web.http import WebRequest, get_row_or_404, parse_row_number
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice, render_polled
from rules.actions.backtests import create_backtest
from rules.models import Rule
from rules.views.history import BACKTEST_SIZES, find_last_backtest
from rules.views.rules import DETAIL


@page_view("POST")
def start_backtest(request: WebRequest, pk: UUID) -> HttpResponse:
    """Start a backtest in a worker; the rule's page displays its progress."""
    row = get_row_or_404(request, Rule, pk)
    size = parse_row_number(request.POST.get("decisions", "")) or BACKTEST_SIZES[1]
    create_backtest(row.account_id, request.actor, pk, size)
    return redirect_with_notice(
        request, _("Backtest started. It does not change any decision."), "rules:rule", pk=pk
    )


@page_view("GET")
def progress(request: WebRequest, pk: UUID) -> HttpResponse:
    """Render the progress of the last backtest, for polling."""
    row = get_row_or_404(request, Rule, pk)
    return render_polled(request, f"{DETAIL}#backtest", {"backtest": find_last_backtest(row)})
