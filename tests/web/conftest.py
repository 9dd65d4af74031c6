"""A browser for each module of browser tests, a site and a visitor for each test; staff."""

from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.test import Client
from playwright.sync_api import Browser

from kmapp.accounts.models import Account
from tests.web.browser import Visitor, launched, served, visiting
from tests.web.staff import staff


@pytest.fixture(autouse=True)
def own_attempts(request: pytest.FixtureRequest) -> Iterator[None]:
    """All tests sign in from one address: what one tried there does not count for the next."""
    yield
    if "acme" in request.fixturenames:
        cache.clear()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture
def site(committed: str) -> Iterator[str]:
    """The address of the product, over a database of this test's own."""
    with served() as base:
        yield base


@pytest.fixture
def visitor(browser: Browser, site: str) -> Iterator[Visitor]:
    with visiting(browser, site) as visitor:
        yield visitor
        assert visitor.violations == []
        assert visitor.mistakes == []


@pytest.fixture
def backstage(client: Client, acme: Account) -> Client:
    """Somebody of Acme's who may do everything in the stock admin there."""
    client.force_login(staff(acme, "boss"))
    return client
