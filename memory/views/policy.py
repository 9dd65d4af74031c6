"""The memory policy with its history. Reviewers can view it, admins can change it."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kmapp.accounts.models import Account, ApiKey
from kmapp.accounts.permissions import Permission
from kmapp.errors import Invalid
from kmapp.web.actor_names import list_actor_names
from kmapp.web.forms import SettingsForm
from kmapp.web.http import WebRequest, parse_reason, parse_row_number
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice, render_form
from kmapp.web.settings_history import SettingsCommit, field_label, list_changes
from memory.actions import retention
from memory.actions.settings import ACCOUNT_FIELDS, POLICY_INPUT, update_policy
from memory.models import MemoryEntry, MemorySettings
from memory.views.policy_forms import SECTIONS

TEMPLATE = "memory/policy/index.html"


@page_view("GET")
def policy(request: WebRequest) -> HttpResponse:
    return _render_page(request, MemorySettings.objects.get_or_default(request.account_id))


@page_view("POST", needs=Permission.SETTINGS)
def set_policy(request: WebRequest) -> HttpResponse:
    """Change a section. A shorter retention that forgets memories at once needs confirmation."""
    section = request.POST.get("section", "")
    if section not in SECTIONS:
        raise Invalid(_("Policy section not found."))
    settings = MemorySettings.objects.get_or_default(request.account_id)
    form = SECTIONS[section].of(settings, request.POST)
    if not form.is_valid():
        return _render_page(request, settings, invalid={section: form})
    values = form.values()
    expiring = _count_expiring(settings, values)
    if expiring and not form.is_confirmed:
        context = {"form": form, "section": section, "expiring": expiring}
        return render(request, "memory/policy/confirm.html", context)
    changed = update_policy(
        settings.account_id,
        values,
        actor=request.actor,
        version=parse_row_number(request.POST.get("version", "")) or 0,
        reason=parse_reason(request),
    )
    message = _("The policy is saved and in effect.") if changed else _("Nothing changed.")
    return redirect_with_notice(request, message, "memory:policy")


def _count_expiring(settings: MemorySettings, values: dict[str, Any]) -> int:
    """Return how many memories the shorter ones of these retention periods would forget."""
    days = values.get("forget_after", {})
    shorter = {
        kind: limit
        for kind, limit in days.items()
        if limit < settings.forget_after.get(kind, limit + 1)
    }
    return sum(retention.count_past_retention(settings.account_id, shorter).values())


def _render_page(
    request: WebRequest, settings: MemorySettings, *, invalid: dict[str, SettingsForm] | None = None
) -> HttpResponse:
    forms = {name: section.of(settings) for name, section in SECTIONS.items()} | (invalid or {})
    steps = _list_changes(settings)
    context = {
        "settings": settings,
        "sections": forms,
        "retention": _list_retention(settings, forms["retention"]),
        "may_change": Permission.SETTINGS in request.permissions,
        "steps": steps,
        "names": list_actor_names(step.commit.actor for step in steps),
    }
    return render_form(request, TEMPLATE, context, invalid=invalid)


def _list_retention(settings: MemorySettings, form: SettingsForm) -> list[dict[str, Any]]:
    """Return the retention of each kind with the counts of memories."""
    active = retention.count_active_by_kind(settings.account_id)
    due = retention.count_past_retention(settings.account_id, settings.forget_after)
    return [
        {
            "kind": name,
            "field": form[name],
            "active": active.get(name, 0),
            "due": due.get(name, 0),
            "days": settings.forget_after.get(name),
        }
        for name in form.fields
    ]


def _list_changes(settings: MemorySettings) -> list[SettingsCommit]:
    """Return the latest changes, newest first, with three queries. Use inside `acting`."""
    keys = ApiKey.objects.of(settings.account_id)
    names = {str(pk): name for pk, name in keys.values_list("pk", "name")}
    format_value = partial(_format_value, keys=names)
    return list_changes(
        settings,
        POLICY_INPUT,
        format_value=format_value,
        label=lambda name: field_label(_get_model(name), name),
    )


def _get_model(name: str) -> type[Account] | type[MemorySettings]:
    return Account if name in ACCOUNT_FIELDS else MemorySettings


def _format_value(name: str, value: Any, keys: Mapping[str, str]) -> str:
    if isinstance(value, bool):
        return _("on") if value else _("off")
    if name == "categories":
        return ", ".join(sorted(value)) or _("default categories")
    if name == "instructions":
        return str(value) or _("none")
    if isinstance(value, dict):
        labels = dict(MemoryEntry.Kind.choices)
        periods = [
            ngettext("%(kind)s %(days)d day", "%(kind)s %(days)d days", days)
            % {"kind": labels.get(kind, kind), "days": days}
            for kind, days in sorted(value.items())
        ]
        return ", ".join(periods) or _("no limit")
    if isinstance(value, list):
        return ", ".join(_format_choice(name, each, keys) for each in value) or _("none")
    is_number = isinstance(value, int | float)
    return number_format(value) if is_number else _format_choice(name, value, keys)


def _format_choice(name: str, value: Any, keys: Mapping[str, str]) -> str:
    if value is None:
        return _("default")
    if name == "review_keys":
        return keys.get(value) or _("a deleted key")
    field: Any = _get_model(name)._meta.get_field(name)
    choices = getattr(field, "base_field", field).choices or ()
    return str(dict(choices).get(value, value))
