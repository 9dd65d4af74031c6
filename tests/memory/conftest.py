"""An agent of Acme, over HTTP, and an account whose search index is packed."""

from collections.abc import Iterator

import pytest
from pytest_django import DjangoDbBlocker
from rest_framework.test import APIClient

from kmapp.accounts.models import Account, ApiKey
from kmapp.search import scan_method_choice, vector_code_packing
from tests.agent import Agent
from tests.memory.packed_index import create_packed_account


@pytest.fixture
def agent(key: tuple[ApiKey, str]) -> Agent:
    return Agent(APIClient(headers={"authorization": f"Bearer {key[1]}"}))


@pytest.fixture(scope="module")
def packed_once(module_database: None, django_db_blocker: DjangoDbBlocker) -> Account:
    """An account whose memories are of several reader groups and all packed."""
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_code_packing, "MIN_SAMPLE", 1)
        return create_packed_account()


@pytest.fixture
def packed(packed_once: Account, db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    """The same account; its collection is not small, so that searches use reader groups."""
    monkeypatch.setattr(scan_method_choice, "SCAN_FACTOR", 0.0)
    monkeypatch.setattr(vector_code_packing, "MIN_SAMPLE", 1)
    scan_method_choice.clear_query_caches()
    yield packed_once
    scan_method_choice.clear_query_caches()
