"""What each role may do. Pages, buttons and the table of roles all read `ROLE_PERMISSIONS`."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import AccountAccess, Membership

Role = Membership.Role


class Permission(models.TextChoices):
    """What a person may do in an account. Agents have scopes instead."""

    READ = "read", _("Read memories, documents, lore, rules, calls, costs and the ledger")
    REVIEW = "review", _("Decide proposals, and rate what agents recalled")
    EDIT = "edit", _("Write, edit, import and export memories, documents and lore; draft rules")
    PROMOTE = "promote", _("Change active rules, and promote rules without the evidence")
    SETTINGS = "settings", _("Change policy, redaction, retention and call settings")
    ERASE = "erase", _("Erase memories and tool results permanently, and export a user's data")
    OPERATE = "operate", _("Retry failed jobs, load demo data, and accept an older ledger")
    KEYS = "keys", _("Manage API keys and webhooks")
    MEMBERS = "members", _("Manage members, their roles and invitations")


ROLE_PERMISSIONS: dict[Role, frozenset[Permission]] = {
    Role.VIEWER: frozenset({Permission.READ}),
    Role.REVIEWER: frozenset({Permission.READ, Permission.REVIEW}),
    Role.EDITOR: frozenset({Permission.READ, Permission.REVIEW, Permission.EDIT}),
    Role.ADMIN: frozenset(Permission),
}


def list_permissions(access: AccountAccess) -> frozenset[Permission]:
    """Return what a person may do in an account. An archived one is read-only for everyone."""
    if access.archived_at:
        return frozenset({Permission.READ})
    return ROLE_PERMISSIONS[Role(access.role)]


def find_lowest_role(permission: Permission) -> Role:
    """Return the role with the fewest permissions that has this one."""
    roles = [role for role, has in ROLE_PERMISSIONS.items() if permission in has]
    return min(roles, key=lambda role: len(ROLE_PERMISSIONS[role]))
