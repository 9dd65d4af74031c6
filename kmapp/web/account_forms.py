"""Forms of accounts, their members and their ledger."""

from django import forms
from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import Membership, User
from kmapp.web.forms import Styled


class AccountForm(Styled):
    name = forms.CharField(label=_("Name"), max_length=100)


class NewAccountForm(AccountForm):
    slug = forms.SlugField(
        label=_("Short name"),
        max_length=50,
        required=False,
        help_text=_(
            "Letters, digits and hyphens, for clients that name their account. It cannot be "
            "changed later. Leave it empty to derive it from the name."
        ),
    )

    def clean_slug(self) -> str:
        return str(self.cleaned_data["slug"]).lower()


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
            email, name = (self.cleaned_data.get(field, "") for field in ("email", "name"))
            validate_password(password, User(email=email, first_name=name))
        return password


class InvitationForm(Styled):
    email = forms.EmailField(label=_("E-mail"), max_length=150)  # also the username
    role = forms.ChoiceField(
        label=_("Role"), choices=Membership.Role.choices, initial=Membership.Role.REVIEWER
    )
    language = forms.ChoiceField(label=_("Language of the message"), choices=settings.LANGUAGES)


class AcceptLossForm(Styled):
    """Why a ledger that is not the signed one is accepted."""

    reason = forms.CharField(
        label=_("Reason"),
        max_length=500,
        help_text=_("For example which copy was put back, and why. The ledger records it."),
    )
