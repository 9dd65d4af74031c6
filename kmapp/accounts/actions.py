"""What is done to accounts, their people and their keys. Each is one commit in the ledger."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM, Actor
from kmapp.accounts.models import Account, ApiKey, Membership, User, account_ids
from kmapp.accounts.scopes import Scope
from kmapp.database.ids import uuid7
from kmapp.errors import Conflict
from kmapp.ledger.actions import Recording, recording

PREFIX_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedKey:
    """A key at the only moment it can be read."""

    key: ApiKey
    secret: str


def create_account(*, name: str, slug: str = "", actor: Actor = SYSTEM) -> Account:
    """Open an account: the one deed done before anyone can act for it."""
    account = Account(id=uuid7(), name=name, slug=slug or slugify(name), created_at=timezone.now())
    with acting(account.pk), recording(account.pk, actor) as commit:
        account.save(force_insert=True)
        commit.add(account, "ADD")
    return account


def change_account(
    account: Account, *, redact: Sequence[str], account_wide: str, actor: Actor
) -> None:
    """Set the account's policies."""
    account.redact = list(redact)
    account.account_wide = account_wide
    with recording(account.pk, actor) as commit:
        account.save(update_fields=["redact", "account_wide"])
        commit.add(account, "UPDATE")


def add_member(*, account_id: UUID, user: User, role: str, actor: Actor) -> Membership:
    """Let a person in."""
    with recording(account_id, actor) as commit:
        member = Membership(account_id=account_id, user=user, role=role, commit_id=commit.id)
        try:
            with transaction.atomic():
                member.save(force_insert=True)
        except IntegrityError as error:
            raise Conflict(
                _("This person is a member already: change the role instead.")
            ) from error
        commit.add(member, "ADD")
    return member


def change_role(member: Membership, *, role: str, actor: Actor) -> None:
    """Make a reviewer an admin, or the other way round. One admin always stays."""
    if role != Membership.Role.ADMIN:
        _keep_an_admin(member)
    with recording(member.account_id, actor) as commit:
        member.role, member.commit_id = role, commit.id
        member.save(update_fields=["role", "commit"])
        commit.add(member, "UPDATE")


def remove_member(member: Membership, *, actor: Actor) -> None:
    """Show a person out."""
    _keep_an_admin(member)
    with recording(member.account_id, actor) as commit:
        commit.erase(Membership._meta.label_lower, member.pk)
        member.delete()


def _keep_an_admin(member: Membership) -> None:
    admins = Membership.objects.of(member.account_id).filter(role=Membership.Role.ADMIN)
    # Locked, so that two admins cannot demote each other at once.
    others = [row for row in admins.select_for_update() if row.pk != member.pk]
    if member.role == Membership.Role.ADMIN and not others:
        raise Conflict(_("This is the last admin: make somebody else an admin first."))


def issue_key(
    *,
    account_id: UUID,
    name: str,
    scopes: Sequence[str],
    actor: Actor,
    expires_at: datetime | None = None,
) -> IssuedKey:
    """Make a key. Its secret is returned once and kept nowhere."""
    key = ApiKey(account_id=account_id, name=name, scopes=list(scopes), expires_at=expires_at)
    with recording(account_id, actor) as commit:
        secret = _issue(key, commit)
    return IssuedKey(key=key, secret=secret)


def _issue(key: ApiKey, commit: Recording) -> str:
    """Give a new key its secret, of which it keeps the hash."""
    key.prefix = "".join(secrets.choice(PREFIX_LETTERS) for _each in range(10))
    secret = f"km_{key.prefix}_{secrets.token_urlsafe(32)}"
    key.hash = hashlib.sha256(secret.encode()).hexdigest()
    key.created_by, key.commit_id = str(commit.actor), commit.id
    key.save(force_insert=True)
    commit.add(key, "ADD")
    return secret


def revoke_key(key: ApiKey, *, actor: Actor) -> None:
    """Stop a key, at once and for good."""
    with recording(key.account_id, actor) as commit:
        _revoke(_held(key), commit)


def rotate_key(key: ApiKey, *, actor: Actor) -> IssuedKey:
    """Issue the same key anew and revoke the old one, in one commit."""
    with recording(key.account_id, actor) as commit:
        old = _held(key)
        if old.expires_at and old.expires_at <= timezone.now():
            raise Conflict(_("This key has expired: issue a new one."))
        _revoke(old, commit)
        new = ApiKey(
            account_id=old.account_id,
            name=old.name,
            scopes=old.scopes,
            expires_at=old.expires_at,
        )
        secret = _issue(new, commit)
    return IssuedKey(key=new, secret=secret)


def _held(key: ApiKey) -> ApiKey:
    """The key as it is now, held until the transaction ends: two cannot revoke it at once."""
    return ApiKey.objects.of(key.account_id).select_for_update().get(pk=key.pk)


def _revoke(key: ApiKey, commit: Recording) -> None:
    if key.revoked_at:
        raise Conflict(_("This key was revoked already."))
    key.revoked_at, key.commit_id = timezone.now(), commit.id
    key.save(update_fields=["revoked_at", "commit"])
    commit.add(key, "UPDATE")


def touch_key(account_id: UUID, key_id: UUID) -> None:
    """Remember when a key was last used. A statistic: not in the ledger."""
    with acting(account_id):
        ApiKey.objects.of(account_id).filter(pk=key_id).update(last_used_at=Now())


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstStart:
    """What a new deployment was given."""

    account: Account
    user: User
    password: str
    key: IssuedKey


def bootstrap(*, name: str = "Main", email: str = "admin@kmapp.local") -> FirstStart | None:
    """Give an empty deployment an account, an admin and a key. None when it has an account."""
    if account_ids():
        return None
    account = create_account(name=name, slug="main")
    password = secrets.token_urlsafe(12)
    user = User.objects.create_superuser(username=email, email=email, password=password)
    with acting(account):
        add_member(account_id=account.pk, user=user, role=Membership.Role.ADMIN, actor=SYSTEM)
        key = issue_key(account_id=account.pk, name="first key", scopes=[Scope.ADMIN], actor=SYSTEM)
    return FirstStart(account=account, user=user, password=password, key=key)
