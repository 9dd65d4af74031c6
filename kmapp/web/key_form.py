"""The form of a new API key."""

from datetime import timedelta
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.scopes import GRANTABLE_SCOPES, Scope
from kmapp.web.forms import Styled

EXPIRIES = [
    ("", _("Never")),
    ("30", _("In 30 days")),
    ("90", _("In 90 days")),
    ("365", _("In a year")),
]


class KeyForm(Styled):
    name = forms.CharField(
        label=_("Name"),
        max_length=100,
        help_text=_("The agent or service that uses this key; the ledger shows this name."),
    )
    scopes = forms.MultipleChoiceField(
        label=_("Permissions"),
        choices=[(scope.value, scope.label) for scope in GRANTABLE_SCOPES],
        widget=forms.CheckboxSelectMultiple,
        initial=[Scope.MEMORY_READ, Scope.MEMORY_WRITE],
    )
    expires = forms.ChoiceField(label=_("Expiration"), choices=EXPIRIES, required=False)

    def expires_at(self) -> Any:
        days = self.cleaned_data["expires"]
        return timezone.now() + timedelta(days=int(days)) if days else None
