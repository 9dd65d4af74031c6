"""The identity provider of an account, and which login belongs to which of its identities."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import Membership, SameAccountKey, SealedModel, User
from kmapp.accounts.permissions import ROLE_PERMISSIONS, Role
from kmapp.database.raw_sql import fetch_as
from kmapp.security.egress.allowed_urls import MAX_LENGTH


class CompanySignIn(SealedModel):
    """The identity provider of an account, and what its statements mean here."""

    name = models.CharField(_("company name"), max_length=60)
    issuer = models.CharField(_("issuer"), max_length=MAX_LENGTH)
    # OpenID Connect
    client_id = models.CharField(_("client ID"), max_length=255, blank=True)
    client_secret = models.CharField(max_length=1_000, blank=True, editable=False)  # encrypted
    # SAML
    sign_in_url = models.CharField(
        _("sign-in URL"), max_length=MAX_LENGTH, blank=True, default="", db_default=""
    )
    certificate = models.TextField(_("signing certificate"), blank=True, default="", db_default="")
    email_domains = ArrayField(
        models.CharField(max_length=253), verbose_name=_("e-mail domains"), default=list
    )
    groups_claim = models.CharField(_("groups claim"), max_length=200, default="groups")
    role_by_group = models.JSONField(_("roles of groups"), default=dict)
    default_role = models.CharField(
        _("role without a group"), max_length=10, choices=Membership.Role.choices, blank=True
    )
    creates_logins = models.BooleanField(_("creates logins"), default=True)
    allows_password = models.BooleanField(_("also opens with a password"), default=True)
    checks_second_factor = models.BooleanField(_("checks the second factor"), default=False)
    is_listed = models.BooleanField(_("on the sign-in page"), default=True)
    is_active = models.BooleanField(_("active"), default=True)
    created_at = models.DateTimeField(_("created"))
    updated_at = models.DateTimeField(_("updated"))

    class Meta:
        verbose_name = _("company sign-in")
        verbose_name_plural = _("company sign-ins")
        constraints = [
            models.UniqueConstraint(fields=["account"], name="one_company_sign_in_per_account"),
            models.UniqueConstraint(fields=["account", "id"], name="company_sign_in_in_account"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def uses_saml(self) -> bool:
        return bool(self.certificate)

    def find_role(self, groups: Collection[str]) -> Role | None:
        """Return the role with the most permissions that these groups give; None: no access."""
        roles = [Role(role) for group, role in self.role_by_group.items() if group in groups]
        if self.default_role:
            roles.append(Role(self.default_role))
        return max(roles, key=lambda role: len(ROLE_PERMISSIONS[role]), default=None)

    def get_groups(self, role: str) -> list[str]:
        return sorted(group for group, its_role in self.role_by_group.items() if its_role == role)

    def admits_domain(self, email: str) -> bool:
        return email.rpartition("@")[2].lower() in self.email_domains


class CompanyIdentity(SealedModel):
    """A person as the identity provider names them, and their login.

    The provider's subject decides who someone is, never the e-mail address, which it may reassign.
    """

    sign_in = SameAccountKey(CompanySignIn, related_name="+", verbose_name=_("company sign-in"))
    subject = models.CharField(_("subject"), max_length=255)
    user = models.ForeignKey(
        User, on_delete=models.CASCADE, related_name="+", verbose_name=_("person")
    )
    # True if the person connected their own login, False if the account connected a login that it
    # alone manages.
    by_person = models.BooleanField(_("connected by the person"), default=False)
    created_at = models.DateTimeField(_("created"))

    class Meta:
        verbose_name = _("company identity")
        verbose_name_plural = _("company identities")
        constraints = [
            models.UniqueConstraint(
                fields=["account", "sign_in", "subject"], name="one_login_per_company_identity"
            ),
            models.UniqueConstraint(
                fields=["account", "sign_in", "user"], name="one_company_identity_per_login"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} · {self.subject}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSignIn:
    """The active company sign-in of an account, as someone who is not signed in may see it."""

    account_id: UUID
    slug: str
    name: str
    is_listed: bool


def list_open_sign_ins() -> list[OpenSignIn]:
    """Return the active company sign-ins of all accounts in use."""
    return fetch_as(OpenSignIn, "open_company_sign_ins()")


def find_open_sign_in(slug: str) -> OpenSignIn | None:
    """Return the active company sign-in of the account with this short name."""
    return next(iter(fetch_as(OpenSignIn, "open_company_sign_ins() WHERE slug = %s", slug)), None)
