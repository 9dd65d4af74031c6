"""The rows of search results are the same as those of the ORM."""

from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.ledger.read_verification import RowSeal
from memory.models import MemoryEntry
from memory.retrieval.result_rows import load_rows
from tests import makers


def load(account: Account, pk: UUID) -> MemoryEntry:
    with acting(account):
        [row] = load_rows(account.pk, [str(pk)])
    return row


def test_rows_have_the_values_of_the_orm(acme: Account) -> None:
    [entry] = makers.write(
        acme,
        "The tea is in the left cupboard.",
        user_id="ann",
        tags=["warm", "green"],
        metadata={"speaker": "Ann", "cups": [1, None]},
        half_life_days=30.0,
    )
    row, expected = load(acme, entry.pk), makers.get(MemoryEntry, acme, pk=entry.pk)
    for field in MemoryEntry._meta.concrete_fields:
        value, stored = getattr(row, field.attname), getattr(expected, field.attname)
        assert (type(value), value) == (type(stored), stored), field.attname
    assert row == expected
    assert (row._state.db, row._state.adding) == ("default", False)  # noqa: SLF001
    assert row.verify_on_read is False
    assert not hasattr(row, "last_seal")


def test_rows_of_a_verifying_account_have_their_last_seal(acme: Account) -> None:
    [entry] = makers.write(acme, "The tea is in the left cupboard.")
    makers.set_policy(acme, {"verify_on_read": True})
    first, second = load(acme, entry.pk), load(acme, entry.pk)
    assert first.verify_on_read is second.verify_on_read is True
    assert not hasattr(first, "last_seal")
    assert second.last_seal is not None
    assert RowSeal.parse(second.last_seal).commit_id == second.commit_id
    makers.set_policy(acme, {"verify_on_read": False})
    assert load(acme, entry.pk).verify_on_read is False
    assert not hasattr(load(acme, entry.pk), "last_seal")
