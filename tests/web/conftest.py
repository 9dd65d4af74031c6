"""Fixtures of page tests: a shared browser, a visitor for each test, staff, company sign-in."""

from collections.abc import Generator, Iterator
from contextlib import ExitStack

import pytest
from django.core.cache import cache
from django.test import Client
from playwright.sync_api import Browser
from pytest_django import Settings

from kmapp.accounts.models import Account, User
from tests import makers
from tests.identity_provider import IdentityProvider, identity_provider
from tests.schedule import needs_browser
from tests.web.browser import Visitor, launched, visiting
from tests.web.company_pages import SETTINGS, sign_in_form
from tests.web.staff import staff


@pytest.fixture(autouse=True)
def reset_throttles(request: pytest.FixtureRequest) -> Iterator[None]:
    """Reset the rate limits by client address after a test, because all tests share one address."""
    yield
    if "acme" in request.fixturenames:
        cache.clear()


_browsers: list[Browser] = []  # at most one
_open_browsers = ExitStack()


@pytest.fixture(scope="module")
def browser() -> Browser:
    """Return the browser, which consecutive modules with browser tests share."""
    if not _browsers:
        _browsers.append(_open_browsers.enter_context(launched()))
    return _browsers[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Close the browser before tests without one, as it runs an event loop in their thread."""
    try:
        return (yield)
    finally:
        if not needs_browser(nextitem):
            _browsers.clear()
            _open_browsers.close()


@pytest.fixture
def visitor(browser: Browser, site: str) -> Iterator[Visitor]:
    with visiting(browser, site) as visitor:
        yield visitor
        assert visitor.violations == []
        assert visitor.mistakes == []


@pytest.fixture
def reviewer_visitor(visitor: Visitor, alice: User) -> Visitor:
    visitor.sign_in(alice)
    return visitor


@pytest.fixture
def superuser(acme: Account) -> Client:
    """Return the client of a superuser who is an admin of Acme, for the Django admin."""
    return makers.signed_in(staff(acme, "boss"))


@pytest.fixture(scope="module")
def running_identities() -> Iterator[IdentityProvider]:
    with identity_provider() as identities:
        yield identities


@pytest.fixture
def identities(running_identities: IdentityProvider, settings: Settings) -> IdentityProvider:
    settings.SIGN_IN_PRIVATE = [running_identities.netloc]
    running_identities.token_requests.clear()
    return running_identities


@pytest.fixture
def company(admin: Client, identities: IdentityProvider) -> IdentityProvider:
    """Return the provider, after an admin has set it up for Acme."""
    assert admin.post(SETTINGS, sign_in_form(identities)).status_code == 302
    return identities
