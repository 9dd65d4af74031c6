"""History of the policy, read from the ledger."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kmapp.accounts.models import Account, ApiKey
from kmapp.web.settings_history import SettingsCommit, field_label, list_changes
from memory.actions.settings import ACCOUNT_FIELDS, POLICY_INPUT
from memory.models import MemoryEntry, MemorySettings


def history(settings: MemorySettings) -> list[SettingsCommit]:
    """Return the latest changes, newest first, with three queries. Use inside `acting`."""
    keys = ApiKey.objects.of(settings.account_id)
    names = {str(pk): name for pk, name in keys.values_list("pk", "name")}
    format_value = partial(_format_value, keys=names)
    return list_changes(settings, POLICY_INPUT, format_value=format_value, label=_label)


def _label(name: str) -> str:
    model = Account if name in ACCOUNT_FIELDS else MemorySettings
    return field_label(model, name)


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
    field: Any = (Account if name in ACCOUNT_FIELDS else MemorySettings)._meta.get_field(name)
    choices = getattr(field, "base_field", field).choices or ()
    return str(dict(choices).get(value, value))
