"""An agent of Acme, and HTTP servers on the loopback interface."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from rest_framework.test import APIClient

from kmapp.accounts.models import ApiKey
from tests.agent import Agent
from tests.knowledge.websites import Canary, Site, served


@pytest.fixture
def agent(key: tuple[ApiKey, str]) -> Agent:
    return Agent(APIClient(headers={"authorization": f"Bearer {key[1]}"}))


@pytest.fixture
def canary() -> Iterator[Canary]:
    listening = Canary()
    with closing(listening.socket):
        yield listening


@pytest.fixture
def site() -> Iterator[Site]:
    with served(Site()) as site:
        yield site
