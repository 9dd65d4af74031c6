"""Many ids are sent as one value."""

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, ApiKey
from kmapp.database.ids import uuid7
from kmapp.search.lookups import Ids
from tests import makers


def test_any_of_matches_listed_ids(acme: Account) -> None:
    keys = [makers.key(acme)[0] for _ in range(3)]
    with acting(acme):
        rows = ApiKey.objects.filter(pk__any_of=Ids([keys[0].pk, keys[2].pk, uuid7()]))
        assert set(rows) == {keys[0], keys[2]}
        assert not ApiKey.objects.filter(pk__any_of=Ids([])).exists()
        assert ApiKey.objects.filter(account__any_of=Ids([acme.pk])).count() == 3


def test_any_of_sends_one_parameter(acme: Account) -> None:
    rows = ApiKey.objects.filter(pk__any_of=Ids(uuid7() for _ in range(100)))
    assert len(rows.query.sql_with_params()[1]) == 1
