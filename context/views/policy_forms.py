"""Form fields of the assembly policy. Empty fields keep the current value."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from context.assembly.assembly_policy import DEFAULT, InvalidPolicy
from context.assembly.tool_profiles import PROFILES
from context.reports import report_labels
from kmapp.search.variants import VARIANTS
from kmapp.web.forms import Styled
from kmapp.web.templatetags.web import display_value

MAX_TOKENS = 10_000_000
_FLAGS = {"yes": _("yes"), "no": _("no")}


def _build_field(
    name: str, default: Any, limits: Mapping[str, Any], current: Any, initial: Any
) -> forms.Field:
    """Return the field of a policy value; `current` is the value that applies if it is empty."""
    label = report_labels.POLICY[name]
    choices = (
        report_labels.PRUNING if name == "prune" else _FLAGS if isinstance(default, bool) else None
    )
    if choices:
        empty_label = "–" if current is None else f"– ({format_value(name, current)})"
        # An agent may have set the strategies in another order.
        others = [] if initial is None or initial in choices else [(initial, initial)]
        options = [("", empty_label), *choices.items(), *others]
        return forms.ChoiceField(label=label, required=False, choices=options)
    attrs = {} if current is None else {"placeholder": format_input(current)}
    if isinstance(default, int):
        minimum, maximum = limits["minimum"], limits["maximum"]
        number = forms.NumberInput(attrs=attrs)
        return forms.IntegerField(
            label=label, required=False, min_value=minimum, max_value=maximum, widget=number
        )
    if isinstance(default, float):
        number = forms.NumberInput(attrs={**attrs, "step": "any"})
        return forms.FloatField(
            label=label, required=False, min_value=0, max_value=1, widget=number
        )
    return forms.CharField(
        label=label,
        required=False,
        widget=forms.TextInput(attrs=attrs if current else {"placeholder": "–"}),
        help_text=_("Separate names with commas."),
    )


def format_input(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ",".join(value) or "none"
    return value


def format_value(name: str, value: Any) -> str:
    if name == "prune":
        strategies = format_input(value)
        return str(report_labels.PRUNING.get(strategies, strategies))
    return str(_FLAGS[format_input(value)]) if isinstance(value, bool) else display_value(value)


class PolicyForm(Styled):
    """All values of a policy; placeholders show the current ones."""

    def __init__(self, *args: Any, current: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        self.current = current or {}
        super().__init__(*args, **kwargs)

    def add_fields(self) -> None:
        for field_ in fields(DEFAULT):
            name = field_.name
            values = self.current.get(name), self.initial.get(name)
            self.fields[name] = _build_field(name, field_.default, field_.metadata, *values)

    def changes(self) -> dict[str, Any]:
        """Return the entered values as changes of a policy."""
        entered = {
            name: self.cleaned_data[name]
            for name in report_labels.POLICY
            if self.cleaned_data.get(name) not in (None, "")
        }
        return {name: _parse_input(name, value) for name, value in entered.items()}

    def clean(self) -> dict[str, Any]:
        """Validate the values as a policy."""
        cleaned = super().clean() or {}
        if not self.errors:
            try:
                DEFAULT.with_changes(self.changes())
            except InvalidPolicy as error:
                self.add_error(error.name, ValidationError(error.reason))
        return cleaned


def _parse_input(name: str, value: Any) -> Any:
    if name == "prune":
        return [] if value == "none" else value.split(",")
    if isinstance(getattr(DEFAULT, name), tuple):
        return [name_.strip() for name_ in value.replace("，", ",").split(",") if name_.strip()]
    return {"yes": True, "no": False}.get(value, value)


class SideForm(PolicyForm):
    """One side of a comparison: changes to the recorded calls."""

    window = forms.IntegerField(
        label=report_labels.SIDE["window"], required=False, min_value=1, max_value=MAX_TOKENS
    )
    reserve = forms.IntegerField(
        label=report_labels.SIDE["reserve"], required=False, min_value=0, max_value=MAX_TOKENS
    )
    profile = forms.ChoiceField(
        label=report_labels.SIDE["profile"],
        required=False,
        choices=[("", "–"), *((n, n) for n in PROFILES)],
    )

    variant = forms.ChoiceField(
        label=report_labels.SIDE["variant"],
        required=False,
        choices=[("", "–"), *((n, n) for n in VARIANTS)],
    )

    def __init__(self, *args: Any, label: str, **kwargs: Any) -> None:
        """Add the side to each label, because both sides share one table."""
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs["aria-label"] = f"{field.label}: {label}"
            field.help_text = ""

    def to_changes(self) -> dict[str, Any]:
        values = {name: self.cleaned_data[name] for name in report_labels.SIDE}
        changes = {name: None if value == "" else value for name, value in values.items()}
        return {"policy": self.changes(), **changes}
