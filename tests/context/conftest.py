"""An agent of Acme's at the API."""

import pytest
from rest_framework.test import APIClient

from kmapp.accounts.models import ApiKey
from kmapp.text import tokens
from tests.agent import Agent


@pytest.fixture(scope="session", autouse=True)
def tokenizer() -> None:
    """Its tables are read before a transaction waits for them."""
    tokens.count("warm")


@pytest.fixture
def agent(key: tuple[ApiKey, str]) -> Agent:
    return Agent(APIClient(headers={"authorization": f"Bearer {key[1]}"}))
