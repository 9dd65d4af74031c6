"""How calls are assembled, kept and priced: reviewers look, admins change."""

from http import HTTPStatus
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from context.actions.settings import INPUT, change_settings
from context.models import ContextInput, ContextSettings
from context.reports import labels
from context.views.policy_forms import in_words
from context.views.setting_forms import SECTIONS, Form, prices_line
from kmapp.accounts.models import Membership
from kmapp.errors import Invalid
from kmapp.web.actor_names import list_actor_names
from kmapp.web.http import WebRequest, account_id_for, actor_for, parse_row_number, post_text
from kmapp.web.notices import notify_success
from kmapp.web.page_access import admin_required, reviewer_required
from kmapp.web.settings_history import list_changes
from kmapp.web.templatetags.web import display_value

REASON = 500


@require_safe
@reviewer_required
def settings(request: WebRequest) -> HttpResponse:
    return _page(request, ContextSettings.objects.here(account_id_for(request)))


@require_POST
@admin_required
def set_settings(request: WebRequest) -> HttpResponse:
    """One section of them."""
    section = request.POST.get("section", "")
    if section not in SECTIONS:
        raise Invalid(_("There is no such section of the settings."))
    row = ContextSettings.objects.here(account_id_for(request))
    form = SECTIONS[section][0](row, request.POST)
    if not form.is_valid():
        return _page(request, row, {section: form})
    changed = change_settings(
        row.account_id,
        form.values(),
        actor=actor_for(request),
        version=parse_row_number(request.POST.get("version", "")) or 0,
        reason=post_text(request, "reason", REASON),
    )
    format_value = (
        _("The settings hold from now on.") if changed else _("Nothing was different: it stays.")
    )
    notify_success(request, format_value)
    return redirect(f"{reverse('context:settings')}#{section}")


def _page(
    request: WebRequest, row: ContextSettings, wrong: dict[str, Form] | None = None
) -> HttpResponse:
    steps = list_changes(row, INPUT, format_value=_said)
    context = {
        "settings": row,
        "sections": [
            {
                "name": name,
                "form": (wrong or {}).get(name) or make(row),
                "title": title,
                "lead": lead,
            }
            for name, (make, title, lead) in SECTIONS.items()
        ],
        "kept": ContextInput.objects.of(row.account_id).count(),
        "may_change": request.access.role == Membership.Role.ADMIN,
        "steps": steps,
        "names": list_actor_names(step.commit.actor for step in steps),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if wrong else HTTPStatus.OK
    return render(request, "context/settings/index.html", context, status=status)


def _said(name: str, value: Any) -> str:
    if not value or name not in ("policy", "prices", "variants", "remote_sources"):
        return display_value(value)
    if name == "remote_sources":
        return display_value([str(labels.SOURCES[each]) for each in value])
    if name == "policy":
        return "; ".join(f"{labels.POLICY[one]}: {in_words(one, it)}" for one, it in value.items())
    if name == "prices":
        return "; ".join(prices_line(model, price) for model, price in sorted(value.items()))
    return ", ".join(f"{variant} {share} %" for variant, share in sorted(value.items()))
