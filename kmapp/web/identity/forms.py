"""Forms of allauth with the product's labels and styles."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from allauth.account import forms as account
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base import forms as mfa
from allauth.mfa.models import Authenticator
from allauth.mfa.totp import forms as totp
from allauth.mfa.webauthn import forms as webauthn
from allauth.mfa.webauthn.internal.auth import parse_authentication_response
from django import forms
from django.contrib.auth.password_validation import password_validators_help_text_html
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import User
from kmapp.web.forms import Styled

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise


class Labelled(Styled):
    """A form whose fields have other labels, and no placeholders."""

    labels: "dict[str, _StrPromise]" = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, label in self.labels.items():
            self.fields[name].label = label
        for field in self.fields.values():
            field.widget.attrs.pop("placeholder", None)


class RequestResetForm(Labelled, account.ResetPasswordForm):
    """Form that asks for the address to which the link is sent."""

    labels = {"email": _("E-mail")}

    def clean_email(self) -> str:
        """Select the active logins that have this address now.

        allauth also selects those that had it before, which may be someone else's by now, and
        misses those whose stored address has capitals.
        """
        email: str = super().clean_email()
        matches = User.objects.filter(email__iexact=email, is_active=True)
        # Not by the database alone, to which "ı" and "i" are the same letter.
        self.users = [user for user in matches if user.email.lower() == email.lower()]
        return email


class ResetPasswordForm(Labelled, account.ResetPasswordKeyForm):
    """Form for a new password, after the link was opened."""

    labels = {"password1": _("New password"), "password2": _("New password again")}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password1"].help_text = password_validators_help_text_html()


class ConfirmPasswordForm(Labelled, account.ReauthenticateForm):
    """Form that confirms a change of the login by the password."""

    labels = {"password": _("Password")}


class CodeForm(Labelled):
    """A form with a one-time code."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["code"].label = _("Code")
        self.fields["code"].widget.attrs.update(inputmode="numeric", autocomplete="one-time-code")


class SecondFactorForm(CodeForm, mfa.AuthenticateForm):
    """Form of the second step of sign-in."""


class ConfirmCodeForm(CodeForm, mfa.ReauthenticateForm):
    """Form that confirms a change of the login by a code."""


class AddAuthenticatorForm(CodeForm, totp.ActivateTOTPForm):
    """Form that proves that the authenticator app has the secret."""


# What decoders raise. `struct.error` comes from numbers in CBOR that end too early.
MALFORMED = (TypeError, ValueError, LookupError, AttributeError, RecursionError, struct.error)


@contextmanager
def _refuse_malformed() -> Iterator[None]:
    """Report a malformed response of a passkey as one that is not accepted."""
    try:
        yield
    except MALFORMED as error:
        raise get_adapter().validation_error("incorrect_code") from error


class ResponseField(forms.JSONField):
    """The response of a passkey, which a client may replace by any text."""

    widget = forms.HiddenInput

    def to_python(self, value: Any) -> Any:
        with _refuse_malformed():
            return super().to_python(value)


class SecondPasskeyForm(webauthn.AuthenticateWebAuthnForm):
    """A passkey in the second step of sign-in."""

    credential = ResponseField()

    def clean_credential(self) -> Authenticator:
        with _refuse_malformed():
            authenticator: Authenticator = super().clean_credential()
            return authenticator


class ConfirmPasskeyForm(SecondPasskeyForm, webauthn.ReauthenticateWebAuthnForm):
    """Form that confirms a change of the login by a passkey."""


class PasskeySignInForm(SecondPasskeyForm, webauthn.LoginWebAuthnForm):
    """Sign-in by a passkey alone."""

    def clean_credential(self) -> Authenticator:
        """Require that the device has checked who uses it.

        The session has one challenge, which may be that of a second factor: it requires no check.
        """
        with _refuse_malformed():
            sent = parse_authentication_response(self.cleaned_data["credential"])
            if not sent.response.authenticator_data.is_user_verified():
                raise get_adapter().validation_error("incorrect_code")
        return super().clean_credential()


class AddPasskeyForm(Labelled, webauthn.AddWebAuthnForm):
    labels = {"name": _("Name")}
    credential = ResponseField()
    passwordless = forms.BooleanField(
        label=_("Sign in with this passkey alone"),
        required=False,
        initial=True,
        help_text=_(
            "The device then asks for your fingerprint, face or PIN. Turn this off for a security "
            "key without a PIN, which can only be a second factor."
        ),
    )

    def clean(self) -> dict[str, Any] | None:
        with _refuse_malformed():
            cleaned: dict[str, Any] | None = super().clean()
            return cleaned


class RenamePasskeyForm(Labelled, webauthn.EditWebAuthnForm):
    labels = {"name": _("Name")}


class RemovePasskeyForm(forms.Form):
    """Confirmation; invalid if an account requires the factor."""

    def __init__(self, *args: Any, authenticator: Authenticator, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.authenticator = authenticator

    def clean(self) -> None:
        if not get_adapter().can_delete_authenticator(self.authenticator):
            raise get_adapter().validation_error("cannot_delete_authenticator")
