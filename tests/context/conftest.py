"""An API client of Acme, and settings of its account."""

import pytest
from rest_framework.test import APIClient

import context.api.urls  # noqa: F401 - the API reads the names of SOURCES, which tests replace
from kmapp.accounts.models import Account, ApiKey
from kmapp.text import token_counter
from tests.agent import Agent
from tests.context.builders import configure


@pytest.fixture(scope="session", autouse=True)
def tokenizer() -> None:
    """Load the tokenizer's tables before the tests, so that no transaction waits for them."""
    token_counter.count_tokens("warm")


@pytest.fixture
def agent(key: tuple[ApiKey, str]) -> Agent:
    return Agent(APIClient(headers={"authorization": f"Bearer {key[1]}"}))


@pytest.fixture
def low_threshold(acme: Account) -> None:
    """Archive short results, because long ones take long to embed."""
    configure(acme, archive_threshold=1_000, language="en")
