"""Rules for all protocols: which login a provider's assertion signs in, and with which role.

Whoever controls a provider can state anything, and an admin of any account may configure one. So an
assertion opens only this account, and never takes over a login that someone else uses:

- The provider's subject decides who someone is. The e-mail address only finds a login to connect.
- A login is connected without its person only if this account alone manages it.
- Everyone else signs in as usual and connects their login themselves.
"""

import structlog
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import get_language

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import add_member, change_role, lock_members, remove_member
from kmapp.accounts.actors import SYSTEM, Actor
from kmapp.accounts.company_sign_in.assertions import Assertion, RefusalReason, SignInRefused
from kmapp.accounts.company_sign_in.models import CompanyIdentity, CompanySignIn
from kmapp.accounts.models import Membership, User, list_account_access
from kmapp.accounts.permissions import Role
from kmapp.database.advisory_locks import lock_until_commit
from kmapp.errors import Conflict
from kmapp.ledger.actions import recording

REASON = "company sign-in"  # of the commits
MAX_EMAIL_LENGTH = 150  # characters, as of a username
log = structlog.get_logger()


def admit_person(sign_in: CompanySignIn, stated: Assertion, *, person: User | None = None) -> User:
    """Return the login that may enter the account, with the role of its groups.

    `person` is the signed-in user who connects their login, if any. Raise SignInRefused.
    """
    _check_email(sign_in, stated)
    role = sign_in.find_role(stated.groups)
    with acting(sign_in.account_id):
        lock_until_commit(f"company_sign_in:{sign_in.pk}:{stated.subject}")
        identity = _find_identity(sign_in, stated.subject)
        if identity is None:
            if role is None:
                raise SignInRefused(RefusalReason.NO_ROLE)
            if person:
                lock_members(sign_in.account_id, Q(user=person))
            user = person or _find_or_create_login(sign_in, stated)
            connect_identity(sign_in, stated.subject, user, by_person=person is not None)
        else:
            user = _check_identity(sign_in, identity, person)
            if person and not identity.by_person and _is_used_elsewhere(sign_in, user):
                _confirm_identity(identity)
        if not user.is_active:
            raise SignInRefused(RefusalReason.INACTIVE)
        _apply_role(sign_in, user, role)
    if role is None:  # raised here, so that the end of the access is committed
        raise SignInRefused(RefusalReason.NO_ROLE)
    return user


def _find_identity(sign_in: CompanySignIn, subject: str) -> CompanyIdentity | None:
    rows = CompanyIdentity.objects.of(sign_in.account_id).select_related("user")
    return rows.filter(sign_in=sign_in, subject=subject).first()


def _check_identity(sign_in: CompanySignIn, identity: CompanyIdentity, person: User | None) -> User:
    """Return the login of an identity. Raise SignInRefused if the identity may not sign it in."""
    user: User = identity.user
    if person and person != user:
        raise SignInRefused(RefusalReason.OTHER_LOGIN)
    if person is None and user.manages_installation:
        raise SignInRefused(RefusalReason.OWNER)
    if person is None and not identity.by_person and _is_used_elsewhere(sign_in, user):
        raise SignInRefused(RefusalReason.NOT_CONNECTED)
    return user


def _confirm_identity(identity: CompanyIdentity) -> None:
    """Record that the person connected the login: before, the account had connected it."""
    lock_members(identity.account_id, Q(user=identity.user_id))
    rows = CompanyIdentity.objects.of(identity.account_id).filter(pk=identity.pk)
    current = rows.select_for_update().first()
    if current is None:  # an admin has disconnected it meanwhile
        raise SignInRefused(RefusalReason.NOT_CONNECTED)
    current.by_person = True
    actor = Actor("user", current.user_id)
    with recording(identity.account_id, actor, reason=REASON) as commit:
        commit.update(current, "by_person")


def _check_email(sign_in: CompanySignIn, stated: Assertion) -> None:
    try:
        validate_email(stated.email)
    except ValidationError as error:
        raise SignInRefused(RefusalReason.UNVERIFIED) from error
    if not stated.is_verified or len(stated.email) > MAX_EMAIL_LENGTH:
        raise SignInRefused(RefusalReason.UNVERIFIED)
    if not sign_in.admits_domain(stated.email):
        raise SignInRefused(RefusalReason.FOREIGN_DOMAIN)


def _find_or_create_login(sign_in: CompanySignIn, stated: Assertion) -> User:
    """Return the login with this address if the account alone manages it, or a new one."""
    email = stated.email.lower()
    matches = User.objects.filter(Q(email__iexact=email) | Q(username__iexact=email))
    # First, so that a concurrent removal has ended before the accounts of the login are read.
    lock_members(sign_in.account_id, Q(user__in=matches))
    existing = matches.select_for_update().first()
    if existing is None:
        if not sign_in.creates_logins:
            raise SignInRefused(RefusalReason.NO_LOGIN)
        return _create_login(stated, email)
    accounts = {access.account_id for access in list_account_access(existing)}
    is_managed = existing.has_initial_password and accounts == {sign_in.account_id}
    if not is_managed or existing.manages_installation:
        raise SignInRefused(RefusalReason.NOT_CONNECTED)
    return existing


def _create_login(stated: Assertion, email: str) -> User:
    """Create a login without a password.

    `has_initial_password` is set as if someone else had chosen a password. So before the login
    joins another account, its person must prove with a password reset that they receive its
    e-mails.
    """
    user = User(
        username=email,
        email=email,
        first_name=stated.name[:150],
        language=get_language() or "",
        has_initial_password=True,
    )
    user.set_unusable_password()
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError as error:  # someone created it at the same time
        raise SignInRefused(RefusalReason.NOT_CONNECTED) from error
    return user


def _is_used_elsewhere(sign_in: CompanySignIn, user: User) -> bool:
    accounts = {access.account_id for access in list_account_access(user)}
    return bool(accounts - {sign_in.account_id})


def connect_identity(
    sign_in: CompanySignIn, subject: str, user: User, *, by_person: bool
) -> CompanyIdentity:
    """Connect a login with an identity. Inside `acting`."""
    identity = CompanyIdentity(
        account_id=sign_in.account_id,
        sign_in=sign_in,
        subject=subject,
        user=user,
        by_person=by_person,
        created_at=timezone.now(),
    )
    if CompanyIdentity.objects.of(sign_in.account_id).filter(sign_in=sign_in, user=user).exists():
        raise SignInRefused(RefusalReason.OTHER_LOGIN)
    actor = Actor("user", user.pk) if by_person else SYSTEM
    with recording(sign_in.account_id, actor, reason=REASON) as commit:
        commit.insert(identity)
    return identity


def _apply_role(sign_in: CompanySignIn, user: User, role: Role | None) -> None:
    """Give the person this role; None ends their access. The last admin stays an admin."""
    account_id = sign_in.account_id
    member = Membership.objects.of(account_id).filter(user=user).first()
    if member is None:
        if role:
            _require_identity(sign_in, user)
            add_member(account_id=account_id, user=user, role=role, actor=SYSTEM, reason=REASON)
    elif member.role != role:
        try:
            if role:
                change_role(member, role=role, actor=SYSTEM, reason=REASON)
            else:
                remove_member(member, actor=SYSTEM, reason=REASON)
        except Conflict:
            log.warning("role_change_refused", account=str(account_id), user=str(user.pk))


def _require_identity(sign_in: CompanySignIn, user: User) -> None:
    """Raise SignInRefused if an admin has removed the person and their identity meanwhile."""
    rows = CompanyIdentity.objects.of(sign_in.account_id).filter(sign_in=sign_in, user=user)
    if rows.select_for_update().first() is None:
        raise SignInRefused(RefusalReason.NOT_CONNECTED)
