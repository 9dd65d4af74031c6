"""A browser for each module of browser tests, a site and a visitor for each test."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.web.browser import Visitor, launched, served, visiting


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
