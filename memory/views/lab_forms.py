"""What is asked in the lab, and how: all of it stands in the address."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from kmapp.web.forms import Styled
from memory.models import MemoryEntry, Viewer
from memory.retrieval import Search

MOST = 50  # results on one page
USUAL = 10  # as at the API
IDS = ("user_id", "agent_id", "run_id", "app_id")


class QuestionForm(Styled):
    query = forms.CharField(
        label=_("Question"),
        max_length=4000,
        widget=forms.TextInput(attrs={"autocomplete": "off", "data-key": "i"}),
    )


def _id(label: Any) -> forms.CharField:
    return forms.CharField(
        label=label,
        max_length=200,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class SettingForm(Styled):
    """One way of asking. What is left empty is as at the API."""

    user_id = _id(_("User"))
    agent_id = _id(_("Agent"))
    run_id = _id(_("Run"))
    app_id = _id(_("App"))
    limit = forms.IntegerField(
        label=_("At most"), min_value=1, max_value=MOST, required=False, initial=USUAL
    )
    min_score = forms.FloatField(
        label=_("Least score"),
        min_value=0,
        max_value=1,
        required=False,
        initial=0,
        widget=forms.NumberInput(attrs={"step": "0.01"}),
    )
    kind = forms.ChoiceField(
        label=_("Kind"), choices=[("", _("any")), *MemoryEntry.Kind.choices], required=False
    )
    meaning = forms.ChoiceField(
        label=_("Found by"),
        choices=[("", _("words and meaning")), ("off", _("words alone"))],
        required=False,
    )

    def search(self, query: str) -> Search:
        said = self.cleaned_data
        return Search(
            query=query,
            viewer=Viewer(**{name: said[name] for name in IDS}),
            limit=said["limit"] or USUAL,
            min_score=said["min_score"] or 0.0,
            kinds=(said["kind"],) if said["kind"] else (),
            by_meaning=said["meaning"] != "off",
        )
