"""Page of the settings for call assembly, retention and prices."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from context.actions.input_retention import count_expiring_inputs
from context.actions.settings import INPUT, change_settings
from context.models import ContextInput, ContextSettings
from context.reports import report_labels
from context.views.policy_forms import format_value
from context.views.setting_forms import SECTIONS, format_price
from kmapp.accounts.permissions import Permission
from kmapp.errors import Invalid
from kmapp.web.actor_names import list_actor_names
from kmapp.web.forms import SettingsForm
from kmapp.web.http import WebRequest, parse_reason, parse_row_number
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice, render_form
from kmapp.web.settings_history import list_changes
from kmapp.web.templatetags.web import display_value


@page_view("GET")
def settings(request: WebRequest) -> HttpResponse:
    return _render_page(request, ContextSettings.objects.get_or_default(request.account_id))


@page_view("POST", needs=Permission.SETTINGS)
def set_settings(request: WebRequest) -> HttpResponse:
    """Change a section. A retention period that deletes inputs at once needs confirmation."""
    section = request.POST.get("section", "")
    if section not in SECTIONS:
        raise Invalid(_("This settings section does not exist. Reload the page and try again."))
    row = ContextSettings.objects.get_or_default(request.account_id)
    form = SECTIONS[section].of(row, request.POST)
    if not form.is_valid():
        return _render_page(request, row, {section: form})
    values = form.values()
    expiring = count_expiring_inputs(row, values["inputs_days"]) if section == "inputs" else 0
    if expiring and not form.is_confirmed:
        context = {"form": form, "section": section, "expiring": expiring}
        return render(request, "context/settings/confirm.html", context)
    message = save_form_values(request, values)
    return redirect_with_notice(request, message, f"{reverse('context:settings')}#{section}")


def save_form_values(request: WebRequest, values: Mapping[str, Any]) -> str:
    """Change settings as a form sends them, with the version that it shows. Return the notice."""
    changed = change_settings(
        request.account_id,
        values,
        actor=request.actor,
        version=parse_row_number(request.POST.get("version", "")) or 0,
        reason=parse_reason(request),
    )
    return _("Settings saved.") if changed else _("Nothing changed.")


def _render_page(
    request: WebRequest, row: ContextSettings, invalid_forms: dict[str, SettingsForm] | None = None
) -> HttpResponse:
    forms = {name: form.of(row) for name, form in SECTIONS.items()} | (invalid_forms or {})
    steps = list_changes(row, INPUT, format_value=_format_setting)
    context = {
        "settings": row,
        "sections": [
            {"name": name, "form": form, "title": form.title, "lead": form.lead}
            for name, form in forms.items()
        ],
        "input_count": ContextInput.objects.of(row.account_id).count(),
        "may_change": Permission.SETTINGS in request.permissions,
        "steps": steps,
        "names": list_actor_names(step.commit.actor for step in steps),
    }
    return render_form(request, "context/settings/index.html", context, invalid=invalid_forms)


def _format_setting(name: str, value: Any) -> str:
    if not value or name not in ("policy", "prices", "variants", "remote_sources"):
        return display_value(value)
    if name == "remote_sources":
        return display_value([str(report_labels.SOURCES[source]) for source in value])
    if name == "policy":
        return "; ".join(
            f"{report_labels.POLICY[name_]}: {format_value(name_, item)}"
            for name_, item in value.items()
        )
    if name == "prices":
        return "; ".join(format_price(model, price) for model, price in sorted(value.items()))
    return ", ".join(f"{variant} {share} %" for variant, share in sorted(value.items()))
