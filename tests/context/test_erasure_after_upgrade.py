"""The first erasure after an upgrade adds the lookup keys that stored calls lack."""

from uuid import UUID

import pytest
from django.db import connection

from context.actions import backfill_lookup_keys
from context.models import ContextBody, ToolResultArchive
from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from memory.models import MemoryEntry
from tests import makers
from tests.context.test_erased_results import SECRET, archive_result, assemble, conversation

pytestmark = pytest.mark.usefixtures("committed")


@pytest.fixture
def depths(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Depths of the transactions that add lookup keys; 1 is a transaction of its own."""
    depths: list[int] = []
    update = backfill_lookup_keys._update_lookup_keys  # noqa: SLF001

    def record_depth(account_id: UUID, keys: dict[UUID, list[str]]) -> None:
        if keys:
            depths.append(len(connection.atomic_blocks))
        update(account_id, keys)

    monkeypatch.setattr(backfill_lookup_keys, "_update_lookup_keys", record_depth)
    return depths


def forget_lookup_keys(account: Account) -> None:
    with acting(account):
        assert ContextBody.objects.of(account).update(results=None)


def test_first_erasure_after_an_upgrade_prepares_in_own_transactions(
    acme: Account, ada: User, depths: list[int]
) -> None:
    agent = makers.agent(acme)
    archived = archive_result(agent)
    assemble(agent, conversation(SECRET), user_id="ann")
    agent.store("A sparrow.", user_id="ann")
    forget_lookup_keys(acme)
    page = f"/tool-results/{archived['archive']['uuid']}/erase/"
    assert makers.signed_in(ada).post(page, {"reason": "asked"}).status_code == 302
    assert makers.count(ToolResultArchive, acme) == 0
    forget_lookup_keys(acme)
    assert agent.erase(user_id="ann")["erased"]
    assert len(depths) >= 2
    assert set(depths) == {1}


def test_first_erasure_on_the_page_of_memories_prepares_in_own_transactions(
    acme: Account, ada: User, depths: list[int]
) -> None:
    agent, person = makers.agent(acme), makers.signed_in(ada)
    assemble(agent, conversation(SECRET), user_id="ann")
    address = f"/memory/erase/?id={agent.store('A sparrow.', user_id='ann')}"
    forget_lookup_keys(acme)
    ticket = person.get(address).context["extent"].ticket
    form = {"ticket": ticket, "count": "1", "typed": "erase 1"}
    assert person.post(address, {**form, "typed": "erase 2"}).status_code == 422
    assert depths == []
    assert person.post(address, form).status_code == 302
    assert makers.count(MemoryEntry, acme) == 0
    assert depths
    assert set(depths) == {1}
