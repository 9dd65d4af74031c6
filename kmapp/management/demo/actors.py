"""Actors of the demo: an agent with a key, and an admin of the account."""

from dataclasses import dataclass
from typing import Self

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import issue_key
from kmapp.accounts.actors import SYSTEM, Actor
from kmapp.accounts.models import Account, ApiKey, Membership
from kmapp.accounts.scopes import Scope
from kmapp.runtime import stack

KEY = "demo agents"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoActors:
    account: Account
    agent: Actor
    person: Actor
    here: str  # address of the pages

    @classmethod
    def of(cls, account: Account, person: Actor | None = None) -> Self:
        """Return the actors; the person is the account's first admin unless given."""
        with acting(account):
            agent = Actor("key", _get_or_create_key(account).pk)
            return cls(
                account=account,
                agent=agent,
                person=person or _get_first_admin(account),
                here=stack.build_url(),
            )


def _get_first_admin(account: Account) -> Actor:
    admins = Membership.objects.of(account).filter(role=Membership.Role.ADMIN)
    admin = admins.order_by("created_at").first()
    return Actor("user", admin.user_id) if admin else SYSTEM


def _get_or_create_key(account: Account) -> ApiKey:
    """Return the key of the demo's agents. Its secret is not displayed."""
    existing = ApiKey.objects.of(account).filter(name=KEY, revoked_at=None).first()
    if existing:
        return existing
    return issue_key(account_id=account.pk, name=KEY, scopes=[Scope.MEMORY_WRITE], actor=SYSTEM).key
