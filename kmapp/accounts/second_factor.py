"""Second factors: who has one, and which accounts require one.

A second factor belongs to a person, so it is in no account's ledger. The ledger records that an
account requires one, and that an admin removed the one of a member.
"""

from collections.abc import Collection
from uuid import UUID

import structlog
from allauth.mfa.models import Authenticator

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account, Membership, User
from kmapp.ledger.actions import recording

FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)  # recovery codes are no factor
log = structlog.get_logger()


def has_second_factor(user: User) -> bool:
    return bool(find_people_with_factor([user.pk]))


def find_people_with_factor(people: Collection[UUID]) -> set[UUID]:
    rows = Authenticator.objects.filter(user__in=people, type__in=FACTORS)
    return set(rows.values_list("user_id", flat=True))


def require_second_factor(account_id: UUID, *, required: bool, actor: Actor) -> None:
    """Set whether members need a second factor to open the account. Inside `acting`."""
    account = Account.objects.select_for_update().get(pk=account_id)
    if account.require_second_factor == required:
        return
    account.require_second_factor = required
    change = {"require_second_factor": {"before": not required, "after": required}}
    with recording(account_id, actor, input={"account": change}) as commit:
        commit.update(account, "require_second_factor")


def remove_second_factor(member: Membership, *, actor: Actor) -> None:
    """Remove the second factors and recovery codes of a person who lost them."""
    with recording(member.account_id, actor, reason="second factor removed") as commit:
        Authenticator.objects.filter(user=member.user_id).delete()
        commit.update(member)
    log.warning("second_factor_removed", user=str(member.user_id), actor=str(actor))
