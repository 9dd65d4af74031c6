"""Actions on accounts, memberships and API keys. Each action is one commit in the ledger."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM, Actor
from kmapp.accounts.invitations import revoke_sent_invitations
from kmapp.accounts.models import Account, ApiKey, Membership, User, account_ids
from kmapp.accounts.scopes import Scope
from kmapp.database.advisory_locks import lock_until_commit
from kmapp.database.ids import uuid7
from kmapp.database.unique_violations import refuse_duplicate
from kmapp.errors import Conflict
from kmapp.ledger.actions import Recording, recording

PREFIX_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
SLUG_LENGTH = 50  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedKey:
    """A new key with its secret, which cannot be read later."""

    key: ApiKey
    secret: str


def create_account(*, name: str, slug: str = "", actor: Actor = SYSTEM) -> Account:
    """Create an account: the only action for which no account exists yet."""
    slug = slug or slugify(name)[:SLUG_LENGTH].rstrip("-")
    account = Account(id=uuid7(), name=name, slug=slug, created_at=timezone.now())
    account.slug = account.slug or f"account-{account.pk.hex[-8:]}"  # for a Chinese name
    message = _("Another account has this short name. Choose another one.")
    with (
        acting(account.pk),
        recording(account.pk, actor) as commit,
        refuse_duplicate(message),
    ):
        commit.insert(account)
    return account


def add_member(
    *, account_id: UUID, user: User, role: str, actor: Actor, reason: str = ""
) -> Membership:
    member = Membership(account_id=account_id, user=user, role=role)
    message = _("This person is already a member. Change their role instead.")
    with recording(account_id, actor, reason=reason) as commit, refuse_duplicate(message):
        commit.insert(member)
    return member


def change_role(
    member: Membership, *, role: str, actor: Actor, reason: str = "", former: str = ""
) -> None:
    """Change the role of a member. An account keeps at least one admin.

    The open invitations of a former admin are revoked in the same commit. With `former`, raise
    Conflict if the member has neither this role nor the new one.
    """
    current = _lock_member(member, stays_admin=role == Membership.Role.ADMIN)
    if former and current.role not in (former, role):
        raise Conflict(
            _("Someone changed this role after you opened this page. Check it and decide again."),
            code="stale_version",
        )
    with recording(member.account_id, actor, reason=reason) as commit:
        if role != Membership.Role.ADMIN:
            revoke_sent_invitations(member.user_id, commit)
        current.role = role
        commit.update(current, "role")


def remove_member(member: Membership, *, actor: Actor, reason: str = "") -> None:
    """Remove a member, and revoke the open invitations that they sent, in one commit."""
    current = _lock_member(member, stays_admin=False)
    with recording(member.account_id, actor, reason=reason) as commit:
        revoke_sent_invitations(member.user_id, commit)
        commit.delete(current)


def lock_members(account_id: UUID, condition: Q) -> dict[UUID, Membership]:
    """Lock the admins, and the members that meet the condition, until the transaction ends.

    Locks are acquired in this order: members, then invitations or identities, then the ledger.
    """
    rows = Membership.objects.of(account_id).filter(Q(role=Membership.Role.ADMIN) | condition)
    return {row.pk: row for row in rows.order_by("pk").select_for_update()}


def _lock_member(member: Membership, *, stays_admin: bool) -> Membership:
    """Return the current row of a member. Raise Conflict if the account would lose its last admin.

    The admins are locked too, so that two of them cannot demote each other at once. Admins whose
    login is deactivated do not count.
    """
    admin = Membership.Role.ADMIN
    locked = lock_members(member.account_id, Q(pk=member.pk))
    current = locked.pop(member.pk, None)
    if current is None:
        raise Conflict(_("This person is no longer a member."))
    others = User.objects.filter(pk__in=[row.user_id for row in locked.values()], is_active=True)
    if current.role == admin and not stays_admin and not others.exists():
        raise Conflict(
            _("This account needs at least one admin. Make another member an admin first.")
        )
    return current


def issue_key(
    *,
    account_id: UUID,
    name: str,
    scopes: Sequence[str],
    actor: Actor,
    expires_at: datetime | None = None,
) -> IssuedKey:
    """Create a key. Its secret is returned once and never stored."""
    key = ApiKey(account_id=account_id, name=name, scopes=list(scopes), expires_at=expires_at)
    with recording(account_id, actor) as commit:
        return _save_new_key(key, commit)


def _save_new_key(key: ApiKey, commit: Recording) -> IssuedKey:
    key.prefix = "".join(secrets.choice(PREFIX_LETTERS) for _position in range(10))
    secret = f"km_{key.prefix}_{secrets.token_urlsafe(32)}"
    key.hash = hashlib.sha256(secret.encode()).hexdigest()
    key.created_by = str(commit.actor)
    commit.insert(key)
    return IssuedKey(key=key, secret=secret)


def revoke_key(key: ApiKey, *, actor: Actor) -> None:
    """Revoke a key permanently, with immediate effect."""
    with recording(key.account_id, actor) as commit:
        _save_revoked(_lock_key(key), commit)


def rotate_key(key: ApiKey, *, actor: Actor) -> IssuedKey:
    """Issue a new key with the same settings and revoke the old one, in one commit."""
    with recording(key.account_id, actor) as commit:
        old = _lock_key(key)
        if old.expires_at and old.expires_at <= timezone.now():
            raise Conflict(_("This key has expired. Create a new key."))
        _save_revoked(old, commit)
        new = ApiKey(
            account_id=old.account_id,
            name=old.name,
            scopes=old.scopes,
            expires_at=old.expires_at,
        )
        return _save_new_key(new, commit)


def _lock_key(key: ApiKey) -> ApiKey:
    """Return the current key, locked until the transaction ends so that it is revoked only once."""
    return ApiKey.objects.of(key.account_id).select_for_update().get(pk=key.pk)


def _save_revoked(key: ApiKey, commit: Recording) -> None:
    if key.revoked_at:
        raise Conflict(_("This key is already revoked."))
    key.revoked_at = timezone.now()
    commit.update(key, "revoked_at")


def record_key_use(account_id: UUID, key_id: UUID) -> None:
    """Record when a key was last used. A statistic, so it is not in the ledger."""
    with acting(account_id):
        ApiKey.objects.of(account_id).filter(pk=key_id).update(last_used_at=Now())


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapResult:
    account: Account
    user: User
    password: str
    key: IssuedKey


@transaction.atomic
def bootstrap(*, name: str = "Main", email: str = "admin@kmapp.local") -> BootstrapResult | None:
    """Create an account, an admin and a key, or return None if any account exists.

    They are created in one transaction. If only the account remained after a failure, every later
    attempt would find it and create no admin.
    """
    lock_until_commit("bootstrap")
    if account_ids():
        return None
    account = create_account(name=name, slug="main")
    password = secrets.token_urlsafe(12)
    user = User.objects.create_superuser(username=email, email=email, password=password)
    with acting(account):
        add_member(account_id=account.pk, user=user, role=Membership.Role.ADMIN, actor=SYSTEM)
        key = issue_key(account_id=account.pk, name="first key", scopes=[Scope.ADMIN], actor=SYSTEM)
    return BootstrapResult(account=account, user=user, password=password, key=key)
