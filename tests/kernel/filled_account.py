"""An account with rows of every kind, for requests to every route."""

from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, ApiKey
from tests import makers
from tests.kernel.bodies import SHARED
from tests.kernel.names import ObjectIds, collect_ids
from tests.web.proposals import propose
from tests.web.staff import fill


@dataclass(frozen=True)
class FilledAccount:
    """An account with rows of every kind, their ids, and the key that wrote some of them."""

    pk: UUID
    key: tuple[ApiKey, str]
    names: ObjectIds


def create_filled_account() -> FilledAccount:
    account = makers.account("Acme")
    key = makers.key(account)
    agent = Client(headers={"Authorization": f"Bearer {key[1]}"})
    return FilledAccount(account.pk, key, _fill_account(account, agent))


def _fill_account(account: Account, agent: Client) -> ObjectIds:
    """Create rows of every kind; the agent may change the memory, the archive and the run."""
    with acting(account):
        Account.objects.filter(pk=account.pk).update(redact=[])  # text must come back unchanged
    entry = fill(account)[0]
    member = makers.member(account, "mira", role="admin")
    waiting = propose(account, "Acme wants everyone to know this.")[0]
    foreign_names = collect_ids(account, entry=entry, proposal=waiting, member=member)

    def create(path: str, **body: Any) -> Any:
        return agent.post(f"/v1/{path}", body, "application/json").json()

    own = create("memory/store", **SHARED["memory"], client_id="mine")
    result = create(
        "tool-results", **SHARED["chat"], tool_name="look", result="Red. " * 9, threshold=0
    )
    create("memory/tools/select", context={}, candidates=["bash"], run_id="r")
    return replace(
        foreign_names, entry=own["id"], client_id="mine", archive=result["archive"]["uuid"]
    )
