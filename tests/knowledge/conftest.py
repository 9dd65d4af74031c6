"""An agent of Acme, and HTTP servers on the loopback interface."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from django.test import Client
from rest_framework.test import APIClient

from kmapp.accounts.models import ApiKey, User
from tests.agent import Agent
from tests.knowledge.websites import Canary, Site, served


@pytest.fixture
def agent(key: tuple[ApiKey, str]) -> Agent:
    return Agent(APIClient(headers={"authorization": f"Bearer {key[1]}"}))


@pytest.fixture
def reviewer(client: Client, alice: User) -> Client:
    """A browser signed in as a reviewer."""
    client.force_login(alice)
    return client


@pytest.fixture
def canary() -> Iterator[Canary]:
    listening = Canary()
    with closing(listening.socket):
        yield listening


@pytest.fixture
def site() -> Iterator[Site]:
    with served(Site()) as site:
        yield site
