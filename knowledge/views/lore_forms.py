"""Forms of lore."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from knowledge.models import KnowledgeSource, LorebookEntry

TURNS = 10_000


def _input(**attrs: Any) -> forms.TextInput:
    return forms.TextInput(attrs={"class": "form-control", **attrs})


def _number(label: Any, **more: Any) -> forms.IntegerField:
    widget = forms.NumberInput(attrs={"class": "form-control"})
    return forms.IntegerField(label=label, widget=widget, **more)


def _choice(label: Any) -> forms.BooleanField:
    return forms.BooleanField(label=label, required=False)


class ImportForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=200, widget=_input())
    trust = forms.ChoiceField(
        label=_("Trust"),
        choices=KnowledgeSource.Trust.choices,
        initial="semi_trusted",
        widget=forms.Select(attrs={"class": "form-select"}),
    )
    book = forms.FileField(
        label=_("Lorebook file"),
        required=False,
        help_text=_("A SillyTavern world info or character card file in JSON format."),
        widget=forms.FileInput(attrs={"class": "form-control", "accept": ".json"}),
    )


class EntryForm(forms.Form):
    """One entry, with one key per line."""

    version = forms.IntegerField(widget=forms.HiddenInput)
    name = forms.CharField(label=_("Name"), max_length=200, required=False, widget=_input())
    content = forms.CharField(
        label=_("Text"),
        max_length=50_000,
        strip=False,
        widget=forms.Textarea(attrs={"class": "form-control", "rows": 6}),
    )
    keys = forms.CharField(
        label=_("Keys (one per line)"),
        max_length=20_000,
        required=False,
        widget=forms.Textarea(attrs={"class": "form-control", "rows": 3}),
    )
    secondary_keys = forms.CharField(
        label=_("Secondary keys (one per line)"),
        max_length=20_000,
        required=False,
        widget=forms.Textarea(attrs={"class": "form-control", "rows": 2}),
    )
    secondary_logic = forms.ChoiceField(
        label=_("Secondary key logic"),
        choices=LorebookEntry.Secondary.choices,
        widget=forms.Select(attrs={"class": "form-select"}),
        initial="and_any",
    )
    regex = _choice(_("Keys are regular expressions"))
    case_sensitive = _choice(_("Case-sensitive"))
    whole_words = _choice(_("Whole words only"))
    constant = _choice(_("Always fires"))
    enabled = forms.BooleanField(label=_("Enabled"), required=False, initial=True)
    priority = _number(_("Priority"), min_value=-TURNS, max_value=TURNS, initial=0)
    order = _number(_("Order"), min_value=-TURNS, max_value=TURNS, initial=100)
    budget_weight = forms.FloatField(
        label=_("Budget weight"),
        min_value=0,
        max_value=100,
        initial=1.0,
        widget=forms.NumberInput(attrs={"class": "form-control", "step": "any"}),
    )
    scope = forms.CharField(label=_("Scope"), max_length=200, required=False, widget=_input())
    scan_depth = _number(_("Scan depth (messages)"), min_value=0, max_value=TURNS, required=False)
    recursive = forms.BooleanField(label=_("Recursive"), required=False, initial=True)
    recursable = forms.BooleanField(
        label=_("Can be fired by other entries"), required=False, initial=True
    )
    sticky = _number(_("Sticky (turns)"), min_value=0, max_value=TURNS, initial=0)
    cooldown = _number(_("Cooldown (turns)"), min_value=0, max_value=TURNS, initial=0)

    @classmethod
    def seen(cls, row: LorebookEntry) -> dict[str, Any]:
        field_values = {name: getattr(row, name) for name in cls.base_fields}
        return field_values | {
            name: "\n".join(field_values[name]) for name in ("keys", "secondary_keys")
        }

    def values(self) -> dict[str, Any]:
        """Return the values to store: keys as a list, line breaks normalized."""
        field_values = {
            name: value for name, value in self.cleaned_data.items() if name != "version"
        }
        field_values["content"] = field_values["content"].replace("\r\n", "\n")
        for name in ("keys", "secondary_keys"):
            field_values[name] = [
                line.strip() for line in field_values[name].splitlines() if line.strip()
            ]
        return field_values


class BenchForm(forms.Form):
    conversation = forms.CharField(
        label=_("Conversation"),
        max_length=200_000,
        strip=False,
        help_text=_("Start with the oldest message and separate messages with an empty line."),
        widget=forms.Textarea(attrs={"class": "form-control", "rows": 8}),
    )
    book = forms.CharField(
        label=_("Lorebook"),
        max_length=200,
        required=False,
        help_text=_("Leave empty to use all lorebooks."),
        widget=_input(),
    )
    scope = forms.CharField(label=_("Scope"), max_length=200, required=False, widget=_input())
    budget = _number(_("Token budget"), min_value=0, max_value=200_000, initial=1_000)
    scan_depth = _number(_("Scan depth (messages)"), min_value=0, max_value=500, initial=4)
