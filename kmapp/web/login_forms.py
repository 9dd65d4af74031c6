"""Forms of logins: sign-in, password, and the login of an invited person."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, SetPasswordForm
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import User
from kmapp.web.forms import Styled

if TYPE_CHECKING:
    ChosenPasswordForm = SetPasswordForm[User]
else:
    ChosenPasswordForm = SetPasswordForm


class NewLoginForm(Styled, ChosenPasswordForm):
    """Form of an invited person who has no login yet."""

    name = forms.CharField(
        label=_("Name"), max_length=150, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    field_order = ("name",)

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        self.user.first_name = name
        return name


class PasswordForm(Styled, PasswordChangeForm):
    """Form for changing one's own password, confirmed by the current one."""


class SignInForm(Styled, AuthenticationForm):
    """Sign-in by username or e-mail address."""

    error_messages = {
        "invalid_login": _("Name and password do not match. Check both and try again."),
        "inactive": _("This user is deactivated and cannot sign in. Ask an admin."),
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = _("Name or e-mail")

    def clean_username(self) -> str:
        username: str = self.cleaned_data["username"]
        match = (
            User.objects.filter(email__iexact=username).values_list("username", flat=True).first()
        )
        return match or username
