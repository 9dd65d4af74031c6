"""What the policy was before, by whom it was changed, and why: read from the ledger's own notes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.formats import number_format
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kmapp.accounts.models import Account, ApiKey
from kmapp.ledger.models import Commit
from kmapp.ledger.told import Told, told_of
from memory.actions.settings import INPUT, OF_THE_ACCOUNT
from memory.models import MemoryEntry, MemorySettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    label: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One commit that changed the policy."""

    commit: Commit
    reason: str
    changes: Sequence[Change]


def history(settings: MemorySettings) -> list[Step]:
    """The latest changes, newest first. Three queries. Inside `acting`."""
    keys = ApiKey.objects.of(settings.account_id)
    names = {str(pk): name for pk, name in keys.values_list("pk", "name")}
    return [_step(told, names) for told in told_of(settings, INPUT)]


def _step(told: Told, keys: Mapping[str, str]) -> Step:
    return Step(
        commit=told.commit,
        reason=told.reason,
        changes=[
            Change(
                label=_label(name),
                before=_words(name, change["before"], keys),
                after=_words(name, change["after"], keys),
            )
            for name, change in sorted(told.changes.items())
        ],
    )


def _label(name: str) -> str:
    model = Account if name in OF_THE_ACCOUNT else MemorySettings
    return capfirst(str(model._meta.get_field(name).verbose_name))  # type: ignore[union-attr]


def _words(name: str, value: Any, keys: Mapping[str, str]) -> str:
    """A value as the page says it."""
    if isinstance(value, bool):
        return _("on") if value else _("off")
    if name == "categories":
        return ", ".join(sorted(value)) or _("the usual ones")
    if name == "instructions":
        return str(value) or _("none")
    if isinstance(value, dict):
        return ", ".join(_kept(kind, days) for kind, days in sorted(value.items())) or _("for good")
    if isinstance(value, list):
        return ", ".join(_choice(name, each, keys) for each in value) or _("none")
    return number_format(value) if isinstance(value, int | float) else _choice(name, value, keys)


def _kept(kind: str, days: int) -> str:
    label = dict(MemoryEntry.Kind.choices).get(kind, kind)
    return ngettext("%(kind)s %(days)d day", "%(kind)s %(days)d days", days) % {
        "kind": label,
        "days": days,
    }


def _choice(name: str, value: Any, keys: Mapping[str, str]) -> str:
    if name == "review_keys":
        return keys.get(value) or _("a key that is gone")
    field: Any = (Account if name in OF_THE_ACCOUNT else MemorySettings)._meta.get_field(name)
    choices = getattr(field, "base_field", field).choices or ()
    return str(dict(choices).get(value, value))
