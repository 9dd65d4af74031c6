"""Invitations to an account by e-mail: a signed link that works once, for a week, until revoked.

The link names the account, so that it is looked up under row-level security. It also has the number
of its message: a resent invitation invalidates the link of the earlier message.
"""

from datetime import timedelta
from uuid import UUID

from django.core import signing
from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account, AccountQuerySet, Invitation, Membership, User
from kmapp.database.unique_violations import refuse_duplicate
from kmapp.errors import Conflict
from kmapp.ledger.actions import Recording, recording

LIFETIME = timedelta(days=7)
SALT = "kmapp.accounts.invitation"


def invite(*, account_id: UUID, email: str, role: str, language: str, actor: Actor) -> Invitation:
    """Invite an address. It has one open invitation at most. Inside `acting`."""
    if Membership.objects.of(account_id).filter(user__email__iexact=email).exists():
        raise Conflict(_("This person is already a member. Change their role instead."))
    invitation = Invitation(
        account_id=account_id,
        email=email.lower(),
        role=role,
        language=language,
        invited_by=str(actor),
        expires_at=timezone.now() + LIFETIME,
    )
    message = _("This address is already invited. Resend the invitation.")
    with recording(account_id, actor) as commit, refuse_duplicate(message):
        commit.insert(invitation)
    return invitation


def renew_invitation(invitation: Invitation, *, actor: Actor) -> Invitation:
    """Extend an open invitation by a week; the link of the earlier message stops working.

    `actor` becomes its sender, whom the new message names.
    """
    with recording(invitation.account_id, actor) as commit:
        invitation = _lock_open(invitation)
        invitation.expires_at = timezone.now() + LIFETIME
        invitation.messages += 1
        invitation.invited_by = str(actor)
        commit.update(invitation, "expires_at", "messages", "invited_by")
    return invitation


def revoke_invitation(invitation: Invitation, *, actor: Actor) -> None:
    with recording(invitation.account_id, actor) as commit:
        invitation = _lock_open(invitation)
        invitation.revoked_at = timezone.now()
        commit.update(invitation, "revoked_at")


def revoke_sent_invitations(user_id: UUID, commit: Recording) -> None:
    """Revoke the open invitations that a person sent, in the given commit."""
    rows = Invitation.objects.of(commit.account_id).open()
    sent = rows.filter(invited_by=str(Actor("user", user_id))).order_by("pk")
    for invitation in sent.select_for_update():
        invitation.revoked_at = timezone.now()
        commit.update(invitation, "revoked_at")


def accept_invitation(invitation: Invitation, user: User) -> None:
    """Make a person a member, in one commit with the end of the invitation. Inside `acting`.

    Raise Conflict if the sender is no longer an active admin: the invitation may have been written
    while their other ones were revoked.
    """
    account_id = invitation.account_id
    # Memberships are locked before the invitation, in the same order as in `change_role`.
    members = Membership.objects.of(account_id).select_for_update(of=("self",))
    if not _may_invite(invitation, members):
        raise Conflict(_("This invitation was already accepted or revoked."))
    with recording(account_id, Actor("user", user.pk)) as commit:
        invitation = _lock_open(invitation)
        invitation.accepted_at = timezone.now()
        commit.update(invitation, "accepted_at")
        if not Membership.objects.of(account_id).filter(user=user).exists():
            commit.insert(Membership(account_id=account_id, user=user, role=invitation.role))


def sign_link(invitation: Invitation) -> str:
    """Return the token of the link of the last message."""
    parts = [str(invitation.account_id), str(invitation.pk), invitation.messages]
    return signing.dumps(parts, salt=SALT)


def find_invitation(token: str) -> tuple[Account, Invitation] | None:
    """Return the open invitation of a link with its account, or None if it no longer works."""
    try:
        account_id, pk, messages = signing.loads(token, salt=SALT)
    except signing.BadSignature:
        return None
    with acting(UUID(account_id)):
        account = Account.objects.filter(archived_at=None).first()
        invitation = Invitation.objects.of(UUID(account_id)).open().filter(pk=pk).first()
        members = Membership.objects.of(UUID(account_id))
        is_open = invitation is not None and _may_invite(invitation, members)
    if account is None or invitation is None or not is_open or invitation.messages != messages:
        return None
    return None if invitation.has_expired else (account, invitation)


def _may_invite(invitation: Invitation, members: AccountQuerySet[Membership]) -> bool:
    """Return whether the sender of an invitation is an active admin, or no person."""
    sender = Actor.parse(invitation.invited_by)
    if sender.kind != "user" or sender.id is None:
        return True
    admins = members.filter(role=Membership.Role.ADMIN, user__is_active=True)
    return admins.filter(user_id=sender.id).first() is not None


def _lock_open(invitation: Invitation) -> Invitation:
    """Return the current row, locked so that it is accepted or revoked only once."""
    rows = Invitation.objects.of(invitation.account_id).open().select_for_update()
    current = rows.filter(pk=invitation.pk).first()
    if current is None:
        raise Conflict(_("This invitation was already accepted or revoked."))
    return current
