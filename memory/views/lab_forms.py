"""Forms of the recall lab; the URL holds their state."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from kmapp.web.forms import Styled
from memory.models import MemoryEntry, Viewer
from memory.retrieval.lab import Endpoint, LabQuery
from memory.retrieval.search import SearchRequest

MAX_RESULTS = 50
ID_FIELDS = ("user_id", "agent_id", "run_id", "app_id")


class QuestionForm(Styled):
    query = forms.CharField(
        label=_("Query"),
        max_length=4000,
        widget=forms.TextInput(attrs={"autocomplete": "off", "data-key": "i"}),
    )


def _id_field(label: Any) -> forms.CharField:
    return forms.CharField(
        label=label,
        max_length=200,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class SettingForm(Styled):
    """Form of one configuration. Empty fields have the defaults of the API."""

    door = forms.ChoiceField(label=_("Endpoint"), choices=Endpoint.choices, required=False)
    user_id = _id_field(_("User"))
    agent_id = _id_field(_("Agent"))
    run_id = _id_field(_("Session"))
    app_id = _id_field(_("App"))
    limit = forms.IntegerField(label=_("Limit"), min_value=1, max_value=MAX_RESULTS, required=False)
    min_score = forms.FloatField(
        label=_("Minimum score"),
        min_value=0,
        max_value=1,
        required=False,
        widget=forms.NumberInput(attrs={"step": "0.01"}),
    )
    kind = forms.ChoiceField(
        label=_("Kind"), choices=[("", _("any")), *MemoryEntry.Kind.choices], required=False
    )
    meaning = forms.ChoiceField(
        label=_("Search mode"),
        choices=[("", _("keywords and meaning")), ("off", _("keywords only"))],
        required=False,
    )
    as_of = forms.DateTimeField(
        label=_("As of"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if data.get("meaning") == "off" and data.get("door") in (Endpoint.RECALL, Endpoint.INJECT):
            self.add_error("meaning", _("Only the search endpoint supports keywords only."))
        return data

    def question(self, query: str) -> LabQuery:
        data = self.cleaned_data
        request = SearchRequest(
            query=query,
            viewer=Viewer(**{name: data[name] for name in ID_FIELDS}),
            kinds=(data["kind"],) if data["kind"] else (),
            by_meaning=data["meaning"] != "off",
            as_of=data["as_of"],
        )
        return LabQuery(
            search=request,
            endpoint=Endpoint(data["door"] or Endpoint.SEARCH),
            max_results=data["limit"],
            min_score=data["min_score"],
        )
