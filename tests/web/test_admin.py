"""The stock admin: everything is there to be read, of one account at a time."""

from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext

from context.models import ContextSettings
from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, AccountOwned, User
from kmapp.providers.models import EmbeddingModel
from memory.models import MemorySettings
from rules.models import RuleBook
from tests import makers
from tests.web.pages import html
from tests.web.staff import MODELS, address, fill

IDS = [model._meta.label for model in MODELS]
# Tables that have one row, or the same rows for every account.
ONE_ROW = (Account, EmbeddingModel, MemorySettings, RuleBook, ContextSettings)


def test_every_model_is_registered() -> None:
    assert [model._meta.label for model in MODELS if not admin.site.is_registered(model)] == []
    assert len(MODELS) > 15


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_every_list_has_search_and_filters(model: type[Model]) -> None:
    shown = admin.site.get_model_admin(model)
    if model not in (MemorySettings, ContextSettings):  # one row
        assert shown.search_fields
        assert shown.date_hierarchy
    assert len(shown.list_display) > 2


@pytest.mark.parametrize("of_account", [True, False])
def test_lists_show_only_rows_of_the_account(
    superuser: Client, acme: Account, rival: Account, subtests: pytest.Subtests, *, of_account: bool
) -> None:
    makers.member(rival, "rita", role="admin")
    fill(acme)
    fill(rival)
    for model in MODELS:
        if issubclass(model, AccountOwned) != of_account:
            continue
        with subtests.test(model=model._meta.label):
            answer = superuser.get(address(model))
            shown = [row.pk for row in answer.context["cl"].result_list]
            assert superuser.get(address(model, f"{shown[0]}/change/")).status_code == 200
            assert superuser.get(address(model), {"q": "a"}).status_code == 200
            if of_account:
                ours, theirs = keys(model, acme), keys(model, rival)
                assert set(shown) == ours
                stranger = superuser.get(address(model, f"{theirs.pop()}/change/"))
                assert (stranger.status_code, stranger.headers["Location"]) == (302, "/admin/")


def keys(model: type[Model], account: Account) -> set[Any]:
    with acting(account):
        return set(model.objects.values_list("pk", flat=True))  # type: ignore[attr-defined]


def test_other_accounts_are_hidden(superuser: Client, rival: Account) -> None:
    makers.member(rival, "rita", role="admin")
    assert "rita" not in html(superuser.get(address(User)))
    accounts = superuser.get(address(Account)).context["cl"].result_list
    assert [account.name for account in accounts] == ["Acme"]


def test_query_count(superuser: Client, acme: Account, subtests: pytest.Subtests) -> None:
    fill(acme)
    few = {model: look(superuser, model) for model in MODELS}
    fill(acme, 12)  # two of them are known
    for i in range(5):
        makers.member(acme, f"m{i}", role="reviewer")
    for model in MODELS:
        with subtests.test(model=model._meta.label):
            rows, queries = look(superuser, model)
            assert rows > few[model][0] or model in ONE_ROW
            assert queries <= few[model][1]


def look(client: Client, model: type[Model]) -> tuple[int, int]:
    """How many rows a list shows, and how many queries it takes."""
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(address(model))
    return len(answer.context["cl"].result_list), len(queries)
