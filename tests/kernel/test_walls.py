"""Accounts cannot see each other (ASVS 8.4.1), whatever the code above forgets."""

import pytest
from django.db import ProgrammingError, connection, transaction

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, ApiKey
from tests import makers


def count(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")  # noqa: S608
        return int(cursor.fetchone()[0])


def test_without_an_account_there_are_no_rows(acme: Account) -> None:
    makers.key(acme)
    assert count("accounts_apikey") == 0
    assert count("accounts_account") == 0


def test_each_account_sees_its_own_rows(acme: Account, rival: Account) -> None:
    makers.key(acme)
    with acting(rival):
        assert count("accounts_apikey") == 0
        with acting(acme):
            assert count("accounts_apikey") == 1
        assert count("accounts_apikey") == 0


def test_write_to_another_account_is_refused(acme: Account, rival: Account) -> None:
    with acting(rival), pytest.raises(ProgrammingError), transaction.atomic():
        ApiKey.objects.create(account=acme, name="theirs", prefix="x", scopes=[], commit_id=acme.pk)
