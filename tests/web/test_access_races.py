"""Concurrent changes of accounts and members: no deadlock, and one account stays in use."""

import pytest

from kmapp.accounts.account_administration import archive_account
from kmapp.accounts.acting import acting
from kmapp.accounts.actions import add_member
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.company_sign_in.actions import remove_and_disconnect
from kmapp.accounts.company_sign_in.admission import admit_person
from kmapp.accounts.company_sign_in.assertions import Assertion, SignInRefused
from kmapp.accounts.company_sign_in.models import CompanyIdentity, CompanySignIn
from kmapp.accounts.models import Account, Membership, User
from kmapp.errors import Conflict
from tests import makers
from tests.race import run_concurrently


def test_removal_of_a_member_does_not_deadlock_with_their_sign_in(
    committed: str, acme: Account, rival: Account, alice: User
) -> None:
    """The sign-in confirms the connection of the login, and changes the role after it."""
    makers.company_sign_in(acme, alice, "al")
    makers.update(CompanyIdentity, acme, {}, by_person=False)
    with acting(rival):
        add_member(account_id=rival.pk, user=alice, role="editor", actor=SYSTEM)
    sign_in, member = makers.get(CompanySignIn, acme), makers.get(Membership, acme)
    stated = Assertion(
        subject="al", email=alice.email, is_verified=True, name="Al", groups=frozenset({"al"})
    )
    with pytest.raises(SignInRefused):
        run_concurrently(
            acme,
            lambda: list(Membership.objects.of(acme).select_for_update()),
            lambda: admit_person(sign_in, stated, person=alice),
            then=lambda: remove_and_disconnect(member, actor=SYSTEM),
        )
    assert makers.count(Membership, acme) == 0
    assert makers.count(CompanyIdentity, acme) == 0


def test_last_two_accounts_are_not_archived_at_once(
    committed: str, acme: Account, rival: Account
) -> None:
    with pytest.raises(Conflict, match="only active account"):
        run_concurrently(
            acme,
            lambda: archive_account(acme.pk, actor=SYSTEM),
            lambda: archive_account(rival.pk, actor=SYSTEM),
        )
    assert makers.get(Account, rival, pk=rival.pk).archived_at is None
