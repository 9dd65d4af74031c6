"""Forms for API keys, members and passwords."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.password_validation import validate_password
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import Membership
from kmapp.accounts.scopes import Scope

EXPIRIES = [
    ("", _("Never")),
    ("30", _("In 30 days")),
    ("90", _("In 90 days")),
    ("365", _("In a year")),
]


class Styled(forms.Form):
    """A form whose fields have the CSS classes of their widgets."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            many = isinstance(field.widget, forms.CheckboxSelectMultiple)
            select = isinstance(field.widget, forms.Select) and not many
            box = isinstance(field.widget, forms.CheckboxInput)
            style = "form-select" if select else "checks" if many else "form-control"
            style = "check" if box else style
            field.widget.attrs.setdefault("class", style)


class KeyForm(Styled):
    """Form for a new API key."""

    name = forms.CharField(
        label=_("Name"),
        max_length=100,
        help_text=_("The agent or service that uses this key; the ledger shows this name."),
    )
    scopes = forms.MultipleChoiceField(
        label=_("Permissions"),
        choices=Scope.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=[Scope.MEMORY_READ, Scope.MEMORY_WRITE],
    )
    expires = forms.ChoiceField(label=_("Expiration"), choices=EXPIRIES, required=False)

    def expires_at(self) -> Any:
        days = self.cleaned_data["expires"]
        return timezone.now() + timedelta(days=int(days)) if days else None


class MemberForm(Styled):
    """Form for adding a member, with or without an existing login."""

    email = forms.EmailField(label=_("E-mail"), max_length=150)  # also the username
    role = forms.ChoiceField(
        label=_("Role"), choices=Membership.Role.choices, initial=Membership.Role.REVIEWER
    )
    name = forms.CharField(label=_("Name"), max_length=150, required=False)
    password = forms.CharField(
        label=_("Initial password"),
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_("Required for new users, who can change it later in the user menu."),
    )

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if password:
            validate_password(password)
        return password


class PasswordForm(Styled, PasswordChangeForm):
    """Form for changing one's own password, confirmed by the current one."""
