"""A browser for each module of browser tests, a visitor for each test; staff."""

from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.test import Client
from playwright.sync_api import Browser
from pytest_django import Settings

from kmapp.accounts.models import Account, User
from tests import makers
from tests.identity_provider import IdentityProvider, identity_provider
from tests.web.browser import Visitor, launched, visiting
from tests.web.company_pages import SETTINGS, sign_in_form
from tests.web.staff import staff


@pytest.fixture(autouse=True)
def reset_throttles(request: pytest.FixtureRequest) -> Iterator[None]:
    """Reset the rate limits by address, because all tests have one."""
    yield
    if "acme" in request.fixturenames:
        cache.clear()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


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
    """A superuser of Acme in the Django admin."""
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
    """The provider, which signs people in to Acme."""
    assert admin.post(SETTINGS, sign_in_form(identities)).status_code == 302
    return identities
