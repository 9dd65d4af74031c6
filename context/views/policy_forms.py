"""The fields of a policy: what is left empty stays as it is."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from context.assembly.policies import DEFAULT, BadPolicy
from context.assembly.tool_offer import PROFILES
from context.reports import labels
from kmapp.search.variants import VARIANTS
from kmapp.web.forms import Styled
from kmapp.web.templatetags.web import display_value

MOST_TOKENS = 10_000_000
_FLAGS = {"yes": _("yes"), "no": _("no")}


def _field(name: str, default: Any, limits: Mapping[str, Any], shown: Any) -> forms.Field:
    """`shown` is what holds where nothing is chosen."""
    label = labels.POLICY[name]
    choices = labels.PRUNING if name == "prune" else _FLAGS if isinstance(default, bool) else None
    if choices:
        nothing = "–" if shown is None else f"– ({choices[said(shown)]})"
        every = [("", nothing), *choices.items()]
        return forms.ChoiceField(label=label, required=False, choices=every)
    box = {} if shown is None else {"placeholder": said(shown)}
    if isinstance(default, int):
        least, most = limits["least"], limits["most"]
        number = forms.NumberInput(attrs=box)
        return forms.IntegerField(
            label=label, required=False, min_value=least, max_value=most, widget=number
        )
    if isinstance(default, float):
        number = forms.NumberInput(attrs={**box, "step": "any"})
        return forms.FloatField(
            label=label, required=False, min_value=0, max_value=1, widget=number
        )
    return forms.CharField(
        label=label,
        required=False,
        widget=forms.TextInput(attrs=box if shown else {"placeholder": "–"}),
        help_text=_("Names, with commas."),
    )


def said(value: Any) -> Any:
    """A value of a policy as its field says it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ",".join(value) or "none"
    return value


def in_words(name: str, value: Any) -> str:
    """A value of a policy as it is told."""
    if name == "prune":
        return str(labels.PRUNING[said(value)])
    return str(_FLAGS[said(value)]) if isinstance(value, bool) else display_value(value)


class PolicyForm(Styled):
    """Every value of a policy. Empty: as it is; the field shows what that is."""

    def __init__(self, *args: Any, shown: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for each in fields(DEFAULT):
            holds = (shown or {}).get(each.name)
            field = _field(each.name, each.default, each.metadata, holds)
            select = isinstance(field.widget, forms.Select)
            field.widget.attrs["class"] = "form-select" if select else "form-control"
            self.fields[each.name] = field

    def changes(self) -> dict[str, Any]:
        """The values that were given, as a policy takes them."""
        given = {
            name: self.cleaned_data[name]
            for name in labels.POLICY
            if self.cleaned_data.get(name) not in (None, "")
        }
        return {name: _read(name, value) for name, value in given.items()}

    def clean(self) -> dict[str, Any]:
        """Calls can be assembled by it."""
        cleaned = super().clean() or {}
        if not self.errors:
            try:
                DEFAULT.with_changes(self.changes())
            except BadPolicy as error:
                self.add_error(error.name, ValidationError(error.reason))
        return cleaned


def _read(name: str, value: Any) -> Any:
    if name == "prune":
        return [] if value == "none" else value.split(",")
    if isinstance(getattr(DEFAULT, name), tuple):
        return [each.strip() for each in value.split(",") if each.strip()]
    return {"yes": True, "no": False}.get(value, value)


class SideForm(PolicyForm):
    """One side of a comparison: how it differs from the calls as they were recorded."""

    window = forms.IntegerField(
        label=labels.SIDE["window"], required=False, min_value=1, max_value=MOST_TOKENS
    )
    reserve = forms.IntegerField(
        label=labels.SIDE["reserve"], required=False, min_value=0, max_value=MOST_TOKENS
    )
    profile = forms.ChoiceField(
        label=labels.SIDE["profile"],
        required=False,
        choices=[("", "–"), *((n, n) for n in PROFILES)],
    )

    variant = forms.ChoiceField(
        label=labels.SIDE["variant"],
        required=False,
        choices=[("", "–"), *((n, n) for n in VARIANTS)],
    )

    def __init__(self, *args: Any, spoken: str, **kwargs: Any) -> None:
        """The fields stand in a table of both sides: each says of which it is."""
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs["aria-label"] = f"{field.label}: {spoken}"
            field.help_text = ""

    def wished(self) -> dict[str, Any]:
        """As `Changes` takes it."""
        own = {
            "window": self.cleaned_data["window"],
            "reserve": self.cleaned_data["reserve"],
            "profile": self.cleaned_data["profile"] or None,
            "variant": self.cleaned_data["variant"] or None,
        }
        return {"policy": self.changes(), **own}
