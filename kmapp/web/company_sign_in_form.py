"""The form of an account's company sign-in."""

import re
from typing import Any

from django import forms
from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import Membership
from kmapp.company_sign_in.models import CompanySignIn
from kmapp.egress.allowed_addresses import LONGEST
from kmapp.web.forms import Styled

MAX_GROUPS = 100  # of a role
SEPARATOR = re.compile(r"[\s,;]+")
is_domain = RegexValidator(
    r"^(?=.{4,253}$)([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]([a-z0-9-]*[a-z0-9])+$",
    _("Enter domains such as example.com."),
)
PROVIDER = ("name", "issuer", "client_id", "client_secret", "email_domains")
ROLES = ("admin", "editor", "reviewer", "viewer")
ACCESS = ("groups_claim", *(f"groups_{role}" for role in ROLES), "default_role")
BEHAVIOUR = ("creates_logins", "checks_second_factor", "allows_password", "is_listed", "is_active")
COLUMNS = ("name", "issuer", "client_id", "groups_claim", "default_role", *BEHAVIOUR)


def _groups_field(label: Any) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
    )


class CompanySignInForm(Styled):
    name = forms.CharField(
        label=_("Company name"),
        max_length=60,
        help_text=_("On the button “Sign in with …”."),
    )
    issuer = forms.CharField(
        label=_("Issuer URL"),
        max_length=LONGEST,
        widget=forms.URLInput(),
        help_text=_("Such as https://login.example.com/realms/main."),
    )
    client_id = forms.CharField(label=_("Client ID"), max_length=255)
    client_secret = forms.CharField(
        label=_("Client secret"),
        required=False,
        max_length=500,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    email_domains = forms.CharField(
        label=_("E-mail domains"),
        max_length=5_000,
        help_text=_("Only people with a verified address in one of them are let in."),
    )
    groups_claim = forms.CharField(
        label=_("Groups claim"),
        max_length=200,
        initial="groups",
        help_text=_("The claim in which the provider lists the groups of a person."),
    )
    groups_admin = _groups_field(_("Groups of admins"))
    groups_editor = _groups_field(_("Groups of editors"))
    groups_reviewer = _groups_field(_("Groups of reviewers"))
    groups_viewer = _groups_field(_("Groups of viewers"))
    default_role = forms.ChoiceField(
        label=_("People in none of these groups"),
        required=False,
        choices=[("", _("No access")), *Membership.Role.choices],
    )
    creates_logins = forms.BooleanField(
        label=_("Create a login at the first sign-in"),
        required=False,
        initial=True,
        help_text=_("Otherwise an admin adds people first."),
    )
    checks_second_factor = forms.BooleanField(
        label=_("The provider checks a second factor"),
        required=False,
        help_text=_("kmapp then does not ask for its own after company sign-in."),
    )
    allows_password = forms.BooleanField(
        label=_("Members may also sign in with a password or passkey"),
        required=False,
        initial=True,
        help_text=_("The owner of the installation always may."),
    )
    is_listed = forms.BooleanField(
        label=_("Show the button on the sign-in page"),
        required=False,
        initial=True,
        help_text=_("Everyone who opens this page sees the company name."),
    )
    is_active = forms.BooleanField(label=_("Active"), required=False, initial=True)

    def __init__(self, data: Any, row: CompanySignIn | None) -> None:
        super().__init__(data, initial=_read_values(row) if row else None)
        secret = self.fields["client_secret"]
        secret.required = row is None
        if row:
            secret.help_text = _("Leave it empty to keep the stored one.")

    def clean_email_domains(self) -> list[str]:
        domains = _split(SEPARATOR, self.cleaned_data["email_domains"].lower())
        for domain in domains:
            is_domain(domain)
        return domains

    def clean(self) -> dict[str, Any]:
        """Require a way to get access, and that a group has one role."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        self.role_by_group: dict[str, str] = {}
        for role in ROLES:
            for group in _split("\n", cleaned.get(f"groups_{role}", "")):
                if group in self.role_by_group:
                    self.add_error(f"groups_{role}", _("A group has one role: remove one of them."))
                self.role_by_group[group] = role
        if not self.role_by_group and not cleaned.get("default_role"):
            self.add_error("default_role", _("Enter groups above, or choose a role for everyone."))
        if len(self.role_by_group) > MAX_GROUPS:
            self.add_error(None, _("Enter at most 100 groups."))
        return cleaned

    def sections(self) -> list[tuple[Any, list[Any]]]:
        """Return the fields under the headings of the page."""
        named = (
            (_("Provider"), PROVIDER),
            (_("Groups and roles"), ACCESS),
            (_("Sign-in"), BEHAVIOUR),
        )
        return [(title, [self[name] for name in names]) for title, names in named]

    def values(self) -> dict[str, Any]:
        """Return the columns, without the secret."""
        columns = {name: self.cleaned_data[name] for name in (*COLUMNS, "email_domains")}
        return {**columns, "role_by_group": self.role_by_group}


def _split(separator: Any, text: str) -> list[str]:
    parts = separator.split(text) if isinstance(separator, re.Pattern) else text.split(separator)
    return list(dict.fromkeys(filter(None, (part.strip() for part in parts))))


def _read_values(row: CompanySignIn) -> dict[str, Any]:
    groups = {f"groups_{role}": "\n".join(row.groups_of(role)) for role in ROLES}
    columns = {name: getattr(row, name) for name in COLUMNS}
    return {**columns, **groups, "email_domains": ", ".join(row.email_domains)}
