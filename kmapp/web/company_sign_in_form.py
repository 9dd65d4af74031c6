"""The form of an account's company sign-in."""

import re
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding
from django import forms
from django.core.validators import RegexValidator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.company_sign_in.models import CompanySignIn
from kmapp.accounts.company_sign_in.openid_connect import may_use_address
from kmapp.accounts.company_sign_in.saml import parse_certificate
from kmapp.accounts.models import Membership
from kmapp.security.egress.allowed_urls import MAX_LENGTH, CannotReach
from kmapp.web.forms import Styled

MAX_GROUPS = 100  # of a role
SEPARATOR = re.compile(r"[\s,;]+")
is_domain = RegexValidator(
    r"^(?=.{4,253}$)([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]([a-z0-9-]*[a-z0-9])+$",
    _("Enter domains such as example.com."),
)
ROLES = ("admin", "editor", "reviewer", "viewer")
ACCESS = ("groups_claim", *(f"groups_{role}" for role in ROLES), "default_role")
BEHAVIOUR = ("creates_logins", "checks_second_factor", "allows_password", "is_listed", "is_active")
COLUMNS = ("name", "issuer", "groups_claim", "default_role", *BEHAVIOUR)


def _build_groups_field(label: Any) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
    )


class CompanySignInForm(Styled):
    """The fields of all protocols."""

    provider: tuple[str, ...] = ()  # fields about the provider
    columns: tuple[str, ...] = ()  # columns of the protocol
    unused: tuple[str, ...] = ()  # columns of other protocols

    name = forms.CharField(
        label=_("Company name"), max_length=60, help_text=_("On the button “Sign in with …”.")
    )
    email_domains = forms.CharField(
        label=_("E-mail domains"),
        max_length=5_000,
        help_text=_("Only people with a verified address in one of these domains can sign in."),
    )
    groups_claim = forms.CharField(
        label=_("Groups claim"),
        max_length=200,
        initial="groups",
        help_text=_("The claim in which the provider lists the groups of a person."),
    )
    groups_admin = _build_groups_field(_("Groups of admins"))
    groups_editor = _build_groups_field(_("Groups of editors"))
    groups_reviewer = _build_groups_field(_("Groups of reviewers"))
    groups_viewer = _build_groups_field(_("Groups of viewers"))
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
    commit_id = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: Any, row: CompanySignIn | None) -> None:
        super().__init__(data, initial=self._read_values(row) if row else None)

    def clean_email_domains(self) -> list[str]:
        domains = _split_values(SEPARATOR, self.cleaned_data["email_domains"].lower())
        for domain in domains:
            is_domain(domain)
        return domains

    def clean(self) -> dict[str, Any]:
        """Require a way to get access, and that a group has one role."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        self.role_by_group: dict[str, str] = {}
        for role in ROLES:
            for group in _split_values("\n", cleaned.get(f"groups_{role}", "")):
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
            (_("Provider"), ("name", *self.provider, "email_domains")),
            (_("Groups and roles"), ACCESS),
            (_("Sign-in"), BEHAVIOUR),
        )
        return [(title, [self[name] for name in names]) for title, names in named]

    def values(self) -> dict[str, Any]:
        """Return the columns, without the secret."""
        names = (*COLUMNS, *self.columns, "email_domains")
        columns = {name: self.cleaned_data[name] for name in names}
        return {**columns, **dict.fromkeys(self.unused, ""), "role_by_group": self.role_by_group}

    def _read_values(self, row: CompanySignIn) -> dict[str, Any]:
        groups = {f"groups_{role}": "\n".join(row.get_groups(role)) for role in ROLES}
        columns = {name: getattr(row, name) for name in (*COLUMNS, *self.columns, "commit_id")}
        return {**columns, **groups, "email_domains": ", ".join(row.email_domains)}


class OpenIDConnectForm(CompanySignInForm):
    provider = ("issuer", "client_id", "client_secret")
    columns = ("client_id",)
    unused = ("sign_in_url", "certificate")

    issuer = forms.CharField(
        label=_("Issuer URL"),
        max_length=MAX_LENGTH,
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

    def __init__(self, data: Any, row: CompanySignIn | None) -> None:
        super().__init__(data, row)
        secret = self.fields["client_secret"]
        secret.required = not (row and row.client_secret)
        self.issuer_of_secret = row.issuer if row and row.client_secret else ""
        if not secret.required:
            secret.help_text = _("Leave it empty to keep the stored one.")

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        is_same = cleaned.get("issuer", "").rstrip("/") == self.issuer_of_secret.rstrip("/")
        if self.issuer_of_secret and not is_same and not cleaned.get("client_secret"):
            self.add_error("client_secret", _("Enter the client secret for this issuer."))
        return cleaned


class SAMLForm(CompanySignInForm):
    provider = ("issuer", "sign_in_url", "certificate")
    columns = ("sign_in_url", "certificate")
    unused = ("client_id",)

    issuer = forms.CharField(
        label=_("Entity ID of the provider"),
        max_length=MAX_LENGTH,
        help_text=_("As in the provider's metadata."),
    )
    sign_in_url = forms.CharField(
        label=_("Sign-in URL"),
        max_length=MAX_LENGTH,
        widget=forms.URLInput(),
        help_text=_("The provider's SingleSignOnService with the HTTP-Redirect binding."),
    )
    certificate = forms.CharField(
        label=_("Signing certificate"),
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
        help_text=_("The X.509 certificate with which the provider signs, in PEM or base64."),
    )

    groups_claim = forms.CharField(
        label=_("Groups attribute"),
        max_length=200,
        initial="groups",
        help_text=_("The attribute in which the provider lists the groups of a person."),
    )

    def clean_certificate(self) -> str:
        text: str = self.cleaned_data["certificate"]
        try:
            certificate = parse_certificate(text)
        except ValueError as error:
            raise forms.ValidationError(_("This is not an X.509 certificate.")) from error
        return certificate.public_bytes(Encoding.PEM).decode()

    def clean_sign_in_url(self) -> str:
        url: str = self.cleaned_data["sign_in_url"]
        try:
            is_safe = may_use_address(url)
        except CannotReach as error:
            raise forms.ValidationError(gettext(str(error))) from error
        if not is_safe:
            raise forms.ValidationError(_("Enter an https:// URL."))
        return url


def _split_values(separator: Any, text: str) -> list[str]:
    parts = separator.split(text) if isinstance(separator, re.Pattern) else text.split(separator)
    return list(dict.fromkeys(filter(None, (part.strip() for part in parts))))
