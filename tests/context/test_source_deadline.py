"""A source that executes many short statements stops at its deadline."""

from time import monotonic
from typing import Any

import pytest
from django.db import connection

from context.assembly.source_deadline import limit_source
from kmapp.accounts.models import Account
from kmapp.providers.errors import ProviderTimeout


@pytest.mark.parametrize("statements", [(0.15,) * 40, (0.05, 20)])
def test_statements_share_one_deadline(acme: Account, statements: Any) -> None:
    def run_statements() -> None:
        for seconds in statements:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(%s)", [seconds])

    started = monotonic()
    with pytest.raises(ProviderTimeout), limit_source(acme.pk, 200):
        run_statements()
    assert monotonic() - started < 2


def test_timeout_ends_with_the_source(acme: Account) -> None:
    def read_timeout() -> str:
        with connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            return str(cursor.fetchone()[0])

    before = read_timeout()
    with limit_source(acme.pk, 60_000):
        assert read_timeout() == "1min"
    assert read_timeout() == before
