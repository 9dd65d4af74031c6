import io
import logging
from collections.abc import Iterator

import pytest
import structlog
from django.conf import settings as product
from django.test import Client
from pytest_django import Settings

from kmapp.providers.models import EmbeddingModel as Form
from kmapp.runtime import logs


@pytest.fixture
def without_valkey(settings: Settings) -> None:
    """Point the cache at a server that does not exist."""
    cache = {**settings.CACHES["default"], "LOCATION": "unix:///tmp/no-such-kmapp-valkey.sock"}
    settings.CACHES = {"default": cache}


@pytest.fixture
def form() -> Form:
    return Form(name="fake", dimensions=384)


@pytest.fixture
def sender(agent: Client, settings: Settings) -> Client:
    """Return a client without rate limits that receives responses to server errors."""
    settings.THROTTLES = dict.fromkeys(settings.THROTTLES, 1_000_000)
    agent.raise_request_exception = False
    return agent


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """Capture the log lines as written to stderr."""
    logs.configure({"level": "INFO", "json": True})
    handler = logging.getLogger().handlers[0]
    assert isinstance(handler, logging.StreamHandler)
    written = io.StringIO()
    handler.setStream(written)
    yield written
    logs.configure(product.LOGGING)
    structlog.contextvars.clear_contextvars()
