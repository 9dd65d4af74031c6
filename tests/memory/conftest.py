"""An agent of Acme, over HTTP."""

import pytest
from rest_framework.test import APIClient

from kmapp.accounts.models import ApiKey
from tests.agent import Agent


@pytest.fixture
def agent(key: tuple[ApiKey, str]) -> Agent:
    return Agent(APIClient(headers={"authorization": f"Bearer {key[1]}"}))
