"""An agent of Acme and a chat model, both over HTTP."""

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from kmapp.accounts.models import ApiKey
from tests.agent import Agent
from tests.fake_provider import FakeProvider
from tests.memory.chat_model import configure_chat


@pytest.fixture
def agent(key: tuple[ApiKey, str]) -> Agent:
    return Agent(APIClient(headers={"authorization": f"Bearer {key[1]}"}))


@pytest.fixture
def chat(settings: Settings, provider: FakeProvider) -> FakeProvider:
    """The provider, configured as the chat model."""
    configure_chat(settings, provider)
    return provider
