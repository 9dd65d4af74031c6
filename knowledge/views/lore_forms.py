"""Forms of lore."""

from functools import partial
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from kmapp.web.forms import Styled
from knowledge.models import KnowledgeSource, LorebookEntry

MAX_NUMBER = 10_000
MAX_BOOK_BYTES = 16 * 1024 * 1024


def _build_textarea(rows: int) -> forms.Textarea:
    return forms.Textarea(attrs={"rows": rows})


_flag = partial(forms.BooleanField, required=False)
_number = partial(forms.IntegerField, min_value=0, max_value=MAX_NUMBER)


class ImportForm(Styled):
    name = forms.CharField(label=_("Name"), max_length=200)
    trust = forms.ChoiceField(
        label=_("Trust"), choices=KnowledgeSource.Trust.choices, initial="semi_trusted"
    )
    book = forms.FileField(
        label=_("Lorebook file"),
        required=False,
        help_text=_("A SillyTavern world info or character card file in JSON format."),
        widget=forms.FileInput(attrs={"accept": ".json"}),
    )

    def clean_book(self) -> Any:
        """Refuse a large file before it is read: it is parsed in memory."""
        file = self.cleaned_data["book"]
        if file and file.size > MAX_BOOK_BYTES:
            message = _(
                "“%(ref)s” is too large: %(size)s bytes. The limit is %(most)s bytes per file."
            )
            values = {"ref": file.name, "size": f"{file.size:,}", "most": f"{MAX_BOOK_BYTES:,}"}
            raise forms.ValidationError(message, params=values)
        return file


class EntryForm(Styled):
    """One entry, with one key per line."""

    version = forms.IntegerField(widget=forms.HiddenInput)
    name = forms.CharField(label=_("Name"), max_length=200, required=False)
    content = forms.CharField(
        label=_("Text"), max_length=50_000, strip=False, widget=_build_textarea(rows=6)
    )
    keys = forms.CharField(
        label=_("Keys (one per line)"),
        max_length=20_000,
        required=False,
        widget=_build_textarea(rows=3),
    )
    secondary_keys = forms.CharField(
        label=_("Secondary keys (one per line)"),
        max_length=20_000,
        required=False,
        widget=_build_textarea(rows=2),
    )
    secondary_logic = forms.ChoiceField(
        label=_("Secondary key logic"), choices=LorebookEntry.Secondary.choices, initial="and_any"
    )
    regex = _flag(label=_("Keys are regular expressions"))
    case_sensitive = _flag(label=_("Case-sensitive"))
    whole_words = _flag(label=_("Whole words only"))
    constant = _flag(label=_("Always fires"))
    enabled = _flag(label=_("Enabled"), initial=True)
    priority = _number(label=_("Priority"), min_value=-MAX_NUMBER, initial=0)
    order = _number(label=_("Order"), min_value=-MAX_NUMBER, initial=100)
    budget_weight = forms.FloatField(
        label=_("Budget weight"), min_value=0, max_value=100, initial=1.0
    )
    scope = forms.CharField(label=_("Scope"), max_length=200, required=False)
    scan_depth = _number(label=_("Scan depth (messages)"), required=False)
    recursive = _flag(label=_("Recursive"), initial=True)
    recursable = _flag(label=_("Can be fired by other entries"), initial=True)
    sticky = _number(label=_("Sticky (turns)"), initial=0)
    cooldown = _number(label=_("Cooldown (turns)"), initial=0)

    @classmethod
    def values_of(cls, row: LorebookEntry) -> dict[str, Any]:
        values = {name: getattr(row, name) for name in cls.base_fields}
        return values | {name: "\n".join(values[name]) for name in ("keys", "secondary_keys")}

    def values(self) -> dict[str, Any]:
        """Return the values to store: keys as a list, line breaks normalized."""
        values = {name: value for name, value in self.cleaned_data.items() if name != "version"}
        values["content"] = values["content"].replace("\r\n", "\n")
        for name in ("keys", "secondary_keys"):
            values[name] = [line.strip() for line in values[name].splitlines() if line.strip()]
        return values


class LoreTestForm(Styled):
    conversation = forms.CharField(
        label=_("Conversation"),
        max_length=200_000,
        strip=False,
        help_text=_("Start with the oldest message and separate messages with an empty line."),
        widget=_build_textarea(rows=8),
    )
    book = forms.CharField(
        label=_("Lorebook"),
        max_length=200,
        required=False,
        help_text=_("Leave empty to use all lorebooks."),
    )
    scope = forms.CharField(label=_("Scope"), max_length=200, required=False)
    budget = _number(label=_("Token budget"), max_value=200_000, initial=1_000)
    scan_depth = _number(label=_("Scan depth (messages)"), max_value=500, initial=4)
