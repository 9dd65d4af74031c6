"""Chains of many accounts are signed, and compared with their signed heads, by few queries."""

from collections.abc import Callable, Sequence
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext

from kmapp.accounts.for_each_account import AccountsFailed
from kmapp.accounts.models import Account, account_ids
from kmapp.ledger import checkpoints, many_chains
from kmapp.ledger.chain_deviations import (
    find_deviation,
    find_newest_checkpoint,
    list_deviations,
    load_heads,
)
from kmapp.ledger.checkpoint_file import get_checkpoint_file
from kmapp.ledger.checkpoints import sign_moved_heads
from kmapp.ledger.many_chains import MAX_COMMITS_TOGETHER
from tests import makers


def count_queries(run: Callable[[], Any]) -> int:
    with CaptureQueriesContext(connection) as queries:
        run()
    return len(queries)


def create_accounts(number: int) -> list[Account]:
    return [makers.account(f"Account {place}") for place in range(number)]


def signed_accounts() -> set[UUID]:
    return set(get_checkpoint_file().all())


def fail(*_args: object) -> Any:
    raise DatabaseError("The rows of a chain cannot be read.")


def lose_the_file() -> None:
    """Delete the checkpoint file after its statements were copied to the database."""
    call_command("checkpoint", stdout=StringIO())
    settings.CHECKPOINT_FILE.unlink()


def test_signing_many_accounts_needs_as_many_queries_as_signing_one(acme: Account) -> None:
    sign_moved_heads()
    makers.key(acme)
    one = count_queries(sign_moved_heads)
    accounts = [acme, *create_accounts(4)]
    sign_moved_heads()
    for each in accounts:
        makers.key(each)
    assert count_queries(sign_moved_heads) == one
    assert {pk: each.statement.head for pk, each in get_checkpoint_file().all().items()} == (
        load_heads()
    )


def test_parts_of_the_accounts_are_read_one_after_the_other(
    acme: Account, rival: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "MAX_CHAINS", 1)
    sign_moved_heads()
    assert signed_accounts() == {acme.pk, rival.pk}
    assert sign_moved_heads() == []


def test_long_chain_is_signed_up_to_its_last_commit(acme: Account, rival: Account) -> None:
    sign_moved_heads()
    for _each in range(MAX_COMMITS_TOGETHER + 1):
        makers.key(acme)
    makers.key(rival)
    assert {each.account_id: each.head for each in sign_moved_heads()} == load_heads()


def test_large_commits_are_signed(acme: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_chains, "MAX_DIFF_BYTES", 1)
    assert {each.account_id: each.head for each in sign_moved_heads()} == load_heads()


@pytest.mark.parametrize("function", ["load_commits", "load_copied_heads"])
def test_after_a_failed_query_chains_are_read_one_by_one(
    acme: Account, rival: Account, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    monkeypatch.setattr(checkpoints, function, fail)
    first = account_ids()[0]

    def find_or_fail(account_id: UUID) -> Any:
        return fail() if account_id == first else find_newest_checkpoint(account_id)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "find_newest_checkpoint", find_or_fail)
        with pytest.raises(AccountsFailed, match="1 of 2 accounts"):
            sign_moved_heads()
    assert signed_accounts() == {acme.pk, rival.pk} - {first}
    assert [each.account_id for each in sign_moved_heads()] == [first]


@pytest.mark.parametrize("compare", [sign_moved_heads, list_deviations])
def test_without_the_file_queries_do_not_grow_with_the_accounts(
    acme: Account, compare: Callable[[], Sequence[object]]
) -> None:
    call_command("checkpoint", stdout=StringIO())
    signed = settings.CHECKPOINT_FILE.read_bytes()
    settings.CHECKPOINT_FILE.unlink()
    one = count_queries(compare)
    settings.CHECKPOINT_FILE.write_bytes(signed)
    create_accounts(4)
    lose_the_file()
    assert count_queries(compare) == one
    assert len(compare()) == 5


def test_deviations_of_all_accounts_are_those_of_each(acme: Account, rival: Account) -> None:
    assert list_deviations() == []
    lose_the_file()
    makers.account("Newcomer")  # was never signed
    results = list_deviations()
    assert {each.account_id for each in results} == {acme.pk, rival.pk}
    assert results == [find_deviation(each.account_id) for each in results]
    assert all(each.missing_in_file for each in results)
    assert [each.account_id for each in list_deviations(besides=acme.pk)] == [rival.pk]
    assert {each.problem.kind for each in sign_moved_heads() if each.problem} == {"checkpoint"}
