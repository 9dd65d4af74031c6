"""The evidence gate: reviewers view, admins change."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from kmapp.accounts.permissions import Permission
from kmapp.web.actor_names import list_actor_names
from kmapp.web.http import WebRequest, parse_reason, uuid_or_404
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice, render_form
from kmapp.web.settings_history import list_changes
from rules.actions.retention import list_expired_decisions
from rules.actions.settings import INPUT_KEY, change_settings
from rules.models import RuleBook, RuleDecision
from rules.promotion.gate import load_settings
from rules.views.forms import RuleSettingsForm

TEMPLATE = "rules/book/index.html"


@page_view("GET")
def settings(request: WebRequest) -> HttpResponse:
    return _render_page(request, load_settings(request.account_id))


@page_view("POST", needs=Permission.SETTINGS)
def save_settings(request: WebRequest) -> HttpResponse:
    """Change the gate. A retention period that deletes decisions at once needs confirmation."""
    row = load_settings(request.account_id)
    form = RuleSettingsForm(request.POST)
    if not form.is_valid():
        return _render_page(request, row, form)
    expiring = _count_expiring(row, form.cleaned_data["decision_days"])
    if expiring and not form.is_confirmed:
        return render(request, "rules/book/confirm.html", {"form": form, "expiring": expiring})
    seen = request.POST.get("seen")
    changed = change_settings(
        row.account_id,
        form.cleaned_data,
        actor=request.actor,
        seen=uuid_or_404(seen) if seen else None,
        reason=parse_reason(request),
    )
    return redirect_with_notice(
        request, _("Evidence gate saved.") if changed else _("Nothing changed."), "rules:book"
    )


def _count_expiring(row: RuleBook, days: int | None) -> int:
    """Return how many decisions a shorter retention period would delete."""
    shorter = days is not None and days < (row.decision_days or days + 1)
    return list_expired_decisions(row.account_id, days).count() if shorter else 0


def _render_page(
    request: WebRequest, row: RuleBook, invalid_form: RuleSettingsForm | None = None
) -> HttpResponse:
    steps = list_changes(row, INPUT_KEY, format_value=_format_value)
    context = {
        "book": row,
        "form": invalid_form or RuleSettingsForm.of(row),
        "kept": RuleDecision.objects.of(row.account_id).count(),
        "due": list_expired_decisions(row.account_id, row.decision_days).count(),
        "steps": steps,
        "may_change": Permission.SETTINGS in request.permissions,
        "names": list_actor_names(step.commit.actor for step in steps),
    }
    return render_form(request, TEMPLATE, context, invalid=invalid_form)


def _format_value(_name: str, value: Any) -> str:
    if isinstance(value, bool):
        return _("on") if value else _("off")
    return _("no limit") if value is None else number_format(value)
