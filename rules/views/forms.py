"""Forms of rules."""

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kmapp.web.forms import SettingsForm, Styled
from rules.models import Rule, RuleBook
from rules.models.rules import MAX_PRIORITY, MAX_WEIGHT, MIN_PRIORITY
from rules.models.settings import MAX_RETENTION

_NUMBER = forms.NumberInput(attrs={"inputmode": "numeric"})


class RuleForm(Styled):
    """Fields of a rule, except its condition and effect, which the editor holds."""

    name = forms.CharField(label=_("Name"), max_length=200)
    summary = forms.CharField(
        label=_("Purpose"),
        max_length=4_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    audience = forms.ChoiceField(
        label=_("Applies to"), choices=Rule.Audience.choices, required=False
    )
    audience_id = forms.CharField(
        label=_("Owner"),
        max_length=200,
        required=False,
        help_text=_("The ID of the user, agent or app."),
    )
    scope = forms.CharField(
        label=_("Scope"),
        max_length=200,
        required=False,
        help_text=_(
            "Applies only to requests in this scope; leave empty for requests without a scope."
        ),
    )
    priority = forms.IntegerField(
        label=_("Priority"),
        min_value=MIN_PRIORITY,
        max_value=MAX_PRIORITY,
        initial=0,
        help_text=_("When rules conflict, the higher value wins, from -100 to 100."),
    )
    weight = forms.FloatField(
        label=_("Weight"),
        min_value=0,
        max_value=MAX_WEIGHT,
        initial=1.0,
        widget=forms.NumberInput(attrs={"step": "any"}),
        help_text=_(
            "How strongly feedback changes its rank among rules of the same priority, from 0 to 2."
        ),
    )
    reason = forms.CharField(
        label=_("Reason"),
        max_length=500,
        required=False,
        help_text=_("Recorded in the ledger with the change."),
    )

    @classmethod
    def build_initial(cls, rule: Rule | None) -> dict[str, Any]:
        names = [name for name in cls.base_fields if name != "reason"]
        return {name: getattr(rule, name) for name in names} if rule else {}

    def clean(self) -> dict[str, Any]:
        """Require an id exactly for the audiences user, agent and app."""
        data = super().clean() or self.cleaned_data
        data["audience"] = data.get("audience") or Rule.Audience.ACCOUNT
        is_account = data["audience"] == Rule.Audience.ACCOUNT
        if is_account and data.get("audience_id"):
            error = gettext("A rule for everyone cannot have a single owner.")
            self.add_error("audience_id", error)
        if not is_account and not data.get("audience_id"):
            self.add_error("audience_id", gettext("Choose who the rule is for."))
        return data

    def values(self) -> dict[str, Any]:
        """Return the values of the rule, except its scope, which never changes."""
        data = self.cleaned_data
        return {name: data[name] for name in data if name not in ("reason", "scope")}


class RuleSettingsForm(SettingsForm):
    """The evidence gate, with labels and help texts of the model."""

    min_seen = RuleBook._meta.get_field("min_seen").formfield(max_value=1_000_000, widget=_NUMBER)
    min_changed = RuleBook._meta.get_field("min_changed").formfield(
        max_value=1_000_000, widget=_NUMBER
    )
    max_against = RuleBook._meta.get_field("max_against").formfield(
        min_value=0,
        max_value=1,
        widget=forms.NumberInput(attrs={"step": "0.01", "inputmode": "decimal"}),
    )
    second_person = RuleBook._meta.get_field("second_person").formfield()
    decision_days = RuleBook._meta.get_field("decision_days").formfield(
        min_value=1, max_value=MAX_RETENTION, widget=_NUMBER
    )
