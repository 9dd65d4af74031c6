"""State for tests, made with the product's own actions."""

from collections.abc import Sequence
from typing import Any

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import add_member, create_account, issue_key
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, ApiKey, User, account_ids
from kmapp.outbox.actions import deliver_due, resting
from kmapp.outbox.models import Delivery
from kmapp.outbox.registry import QUEUES

PASSWORD = "correct horse battery"


def account(name: str) -> Account:
    return create_account(name=name)


def member(account: Account, name: str, *, role: str) -> User:
    user = User.objects.create_user(
        username=name, email=f"{name}@example.test", password=PASSWORD, first_name=name.title()
    )
    with acting(account):
        add_member(account_id=account.pk, user=user, role=role, actor=SYSTEM)
    return user


def key(account: Account, scopes: Sequence[str] = ("admin",), **more: Any) -> tuple[ApiKey, str]:
    with acting(account):
        issued = issue_key(
            account_id=account.pk, name="test key", scopes=scopes, actor=SYSTEM, **more
        )
    return issued.key, issued.secret


def settle(seconds: float = 60) -> int:
    """Run the worker in this process until nothing is due; nothing may fail. Returns how many."""
    resting.clear()
    tried = sum(deliver_due(queue, seconds=seconds) for queue in QUEUES)
    for account_id in account_ids():
        with acting(account_id):
            errors = Delivery.objects.of(account_id).exclude(last_error="")
            assert not errors.exists(), list(errors.values_list("handler", "last_error"))
    return tried
