"""Passkeys with a virtual authenticator, and authenticator apps, in a browser."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from allauth.mfa.models import Authenticator

from kmapp.accounts.models import User
from tests.makers import PASSWORD
from tests.web.browser import Visitor
from tests.web.totp import code_of, freeze

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("module_commits")]


@contextmanager
def authenticator(visitor: Visitor) -> Iterator[None]:
    """Plug a device with a fingerprint reader into the browser."""
    session = visitor.page.context.new_cdp_session(visitor.page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    yield
    session.send("WebAuthn.disable")


@pytest.fixture
def named(visitor: Visitor, alice: User) -> Visitor:
    """Return the visitor of Alice at an address with a host name, which passkeys need."""
    visitor.base = visitor.base.replace("127.0.0.1", "localhost")
    enter_password(visitor, alice)
    return visitor


def enter_password(visitor: Visitor, user: User) -> None:
    visitor.go("/sign-in/")
    visitor.page.fill("#id_username", user.username)
    visitor.page.fill("#id_password", PASSWORD)
    with visitor.page.expect_navigation():
        visitor.page.click("button.btn-primary")


def sign_out(visitor: Visitor) -> None:
    visitor.page.context.clear_cookies()


def test_passkey_signs_in_alone_and_as_second_factor_until_it_is_removed(
    named: Visitor, alice: User
) -> None:
    page = named.page
    with authenticator(named):
        named.go("/security/passkeys/add/")
        page.fill("#id_name", "My laptop")
        page.click("[data-passkey-start]")
        page.wait_for_url("**/security/recovery-codes/")
        assert page.locator(".codes li").count() == 10
        named.go("/security/")
        assert page.get_by_role("link", name="My laptop").count() == 2, "to rename and to remove it"

        sign_out(named)
        named.go("/sign-in/")
        page.get_by_role("button", name="Sign in with a passkey").click()
        page.wait_for_url(f"{named.base}/")

        sign_out(named)
        enter_password(named, alice)
        page.wait_for_url("**/sign-in/second-factor/")
        page.get_by_role("button", name="Use a passkey").click()
        page.wait_for_url(f"{named.base}/")

        # The device still has the passkey, but kmapp no longer accepts it.
        Authenticator.objects.filter(user=alice).delete()
        sign_out(named)
        named.go("/sign-in/")
        page.get_by_role("button", name="Sign in with a passkey").click()
        page.locator(".notice-error").wait_for()
        assert page.url.endswith("/sign-in/")


HOLD_REQUESTS = """
() => {
  window.requests = 0;
  navigator.credentials.get = () => {
    window.requests += 1;
    return new Promise(() => {});
  };
}
"""


def test_pressing_twice_asks_for_the_passkey_once(named: Visitor) -> None:
    sign_out(named)
    named.go("/sign-in/")
    page = named.page
    page.evaluate(HOLD_REQUESTS)
    page.get_by_role("button", name="Sign in with a passkey").dblclick()
    for _each in range(50):  # the policy forbids the `eval` of `wait_for_function`
        if page.evaluate("window.requests"):
            break
        page.wait_for_timeout(100)
    page.wait_for_timeout(200)
    assert page.evaluate("window.requests") == 1
    assert page.locator("[data-passkey-error='failed']").is_hidden()


def test_address_without_a_name_is_explained(visitor: Visitor) -> None:
    visitor.go("/sign-in/")
    visitor.page.get_by_role("button", name="Sign in with a passkey").click()
    assert visitor.page.locator("[data-passkey-error='unsupported']").is_visible()


def test_app_is_added_and_then_required(
    named: Visitor, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    freeze(monkeypatch)
    page = named.page
    named.go("/security/")
    page.click("a[href='/security/app/add/']")
    secret = page.locator(".secret").inner_text()
    page.fill("#id_code", code_of(secret))
    page.get_by_role("button", name="Add authenticator app").click()
    page.wait_for_url("**/security/recovery-codes/")
    sign_out(named)
    enter_password(named, alice)
    page.fill("#id_code", code_of(secret))
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url(f"{named.base}/")


def test_pages_are_accessible(named: Visitor) -> None:
    paths = ["/security/", "/security/app/add/", "/security/passkeys/add/", "/password/"]
    assert [error for path in paths for error in named.inspect(path)] == []
    sign_out(named)
    public = ["/password/reset/", "/password/reset/sent/", "/password/reset/done/"]
    assert [error for path in public for error in named.inspect(path)] == []
    named.shoot(security="/security/", app="/security/app/add/", reset="/password/reset/")
