"""People, their memberships and invitations, and the accounts that each may open."""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Self
from uuid import UUID

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models.accounts import AccountOwned, AccountQuerySet, SealedModel
from kmapp.database.ids import uuid7
from kmapp.database.raw_sql import fetch_as


class User(AbstractUser):
    """A person. Memberships define what they may do in each account."""

    class Theme(models.TextChoices):
        AUTO = "auto", _("System")
        LIGHT = "light", _("Light")
        DARK = "dark", _("Dark")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    email = models.EmailField(_("e-mail"), unique=True)
    language = models.CharField(_("language"), max_length=10, blank=True)
    time_zone = models.CharField(_("time zone"), max_length=64, blank=True, db_default="")
    theme = models.CharField(_("theme"), max_length=5, choices=Theme.choices, default=Theme.AUTO)
    # Someone else chose the password; a reset by e-mail ends this.
    has_initial_password = models.BooleanField(default=False, db_default=False, editable=False)
    keyboard_shortcuts = models.BooleanField(_("keyboard shortcuts"), default=True)
    has_seen_tour = models.BooleanField(default=False, db_default=False, editable=False)

    @property
    def manages_installation(self) -> bool:
        """Return whether the login has rights in the whole installation."""
        return self.is_superuser or self.is_staff


class Membership(SealedModel):
    class Role(models.TextChoices):
        VIEWER = "viewer", _("Viewer")
        REVIEWER = "reviewer", _("Reviewer")
        EDITOR = "editor", _("Editor")
        ADMIN = "admin", _("Admin")

    user = models.ForeignKey(
        User, on_delete=models.CASCADE, related_name="memberships", verbose_name=_("person")
    )
    role = models.CharField(_("role"), max_length=10, choices=Role.choices)
    created_at = models.DateTimeField(_("member since"), auto_now_add=True)

    class Meta:
        verbose_name = _("membership")
        verbose_name_plural = _("memberships")
        constraints = [
            models.UniqueConstraint(fields=["account", "user"], name="one_membership_per_person")
        ]

    def __str__(self) -> str:
        return f"{self.user_id} · {self.role}"


class InvitationQuerySet(AccountQuerySet["Invitation"]):
    def open(self) -> Self:
        """Return the invitations that were neither accepted nor revoked; some may have expired."""
        return self.filter(accepted_at=None, revoked_at=None)


class Invitation(SealedModel):
    """An e-mail address that was invited to an account with a role."""

    email = models.EmailField(_("e-mail"), max_length=150)
    role = models.CharField(_("role"), max_length=10, choices=Membership.Role.choices)
    language = models.CharField(_("language"), max_length=10)
    invited_by = models.CharField(_("invited by"), max_length=50)
    messages = models.PositiveSmallIntegerField(_("messages"), default=1)
    created_at = models.DateTimeField(_("invited"), auto_now_add=True)
    expires_at = models.DateTimeField(_("expires"))
    accepted_at = models.DateTimeField(_("accepted"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True)

    objects: ClassVar = InvitationQuerySet.as_manager()

    class Meta:
        verbose_name = _("invitation")
        verbose_name_plural = _("invitations")
        constraints = [
            models.UniqueConstraint(
                fields=["account", "email"],
                condition=models.Q(accepted_at=None, revoked_at=None),
                name="one_open_invitation_per_address",
            )
        ]

    def __str__(self) -> str:
        return self.email

    @property
    def has_expired(self) -> bool:
        return self.expires_at <= timezone.now()


class PersonOwned(AccountOwned):
    """A row of one person in an account, such as their settings."""

    owner = models.ForeignKey(
        User, on_delete=models.CASCADE, related_name="+", db_index=False, verbose_name=_("person")
    )

    class Meta:
        abstract = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountAccess:
    account_id: UUID
    name: str
    slug: str
    role: str
    require_second_factor: bool
    archived_at: datetime | None
    requires_company_sign_in: bool

    @property
    def role_label(self) -> str:
        return str(Membership.Role(self.role).label)


def list_account_access(user: User) -> list[AccountAccess]:
    return fetch_as(AccountAccess, "accounts_of_user(%s)", user.pk)
