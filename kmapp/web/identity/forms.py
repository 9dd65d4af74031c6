"""Forms of allauth with the product's labels and styles."""

from typing import Any

from allauth.account import forms as account
from django.contrib.auth.password_validation import password_validators_help_text_html
from django.utils.translation import gettext_lazy as _

from kmapp.web.forms import Styled


class RequestResetForm(Styled, account.ResetPasswordForm):
    """Form that asks for the address to which the link is sent."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].label = _("E-mail")
        self.fields["email"].widget.attrs.pop("placeholder", None)


class ResetPasswordForm(Styled, account.ResetPasswordKeyForm):
    """Form for a new password, after the link was opened."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password1"].label = _("New password")
        self.fields["password1"].help_text = password_validators_help_text_html()
        self.fields["password2"].label = _("New password again")
        for field in self.fields.values():
            field.widget.attrs.pop("placeholder", None)
