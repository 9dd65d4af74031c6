"""Members who get notifications of an account by e-mail, with what they chose."""

from dataclasses import dataclass
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings

from kmapp.accounts.models import Account, Membership, User
from kmapp.accounts.permissions import ROLE_PERMISSIONS, Role
from kmapp.notifications.kinds import Email, EventKind, list_kinds
from kmapp.notifications.models import NotificationSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipient:
    """A member of an account that is in use."""

    account: Account
    membership: Membership
    settings: NotificationSettings

    @property
    def user(self) -> User:
        return self.membership.user

    @property
    def zone(self) -> ZoneInfo:
        try:
            return ZoneInfo(self.user.time_zone or settings.TIME_ZONE)
        except ZoneInfoNotFoundError:  # its name left the database of time zones
            return ZoneInfo(settings.TIME_ZONE)

    @property
    def language(self) -> str:
        return self.user.language or settings.LANGUAGE_CODE

    def kinds(self, mode: Email) -> list[EventKind]:
        """Return the kinds that this person may see and gets by e-mail in this way."""
        permissions = ROLE_PERMISSIONS[Role(self.membership.role)]
        return [kind for kind in list_kinds(permissions) if self.settings.email_for(kind) == mode]


def list_recipients(account_id: UUID, user_id: UUID | None = None) -> list[Recipient]:
    """Return the members, or the one member, who can get e-mails. Inside `acting`.

    Archived accounts and deactivated users get none.
    """
    account = Account.objects.filter(pk=account_id, archived_at=None).first()
    if account is None:
        return []
    members = Membership.objects.of(account_id).filter(user__is_active=True).exclude(user__email="")
    chosen = NotificationSettings.objects.of(account_id)
    if user_id:
        members, chosen = members.filter(user_id=user_id), chosen.filter(owner_id=user_id)
    choices = {row.owner_id: row for row in chosen}
    return [
        Recipient(
            account=account,
            membership=membership,
            settings=choices.get(membership.user_id)
            or NotificationSettings(account_id=account_id, owner=membership.user),
        )
        for membership in members.select_related("user").order_by("pk")
    ]
