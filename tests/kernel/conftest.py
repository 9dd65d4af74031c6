from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from pytest_django import Settings

from kmapp.providers import breaker
from tests.fake_provider import FakeProvider


@dataclass(frozen=True, kw_only=True)
class Form:
    """An embedding model without its row."""

    name: str = "fake"
    dimensions: int = 384
    query_prefix: str = ""
    passage_prefix: str = ""
    sends_input_type: bool = False


@pytest.fixture
def form() -> Form:
    return Form()


@pytest.fixture
def provider(settings: Settings) -> Iterator[FakeProvider]:
    """A provider of our own that queries and passages are sent to; its circuit starts closed."""
    breaker.forget()
    with FakeProvider().serving() as fake:
        settings.EMBEDDING_BASE_URL = settings.EMBEDDING_BATCH_BASE_URL = fake.url
        yield fake
    breaker.forget()
