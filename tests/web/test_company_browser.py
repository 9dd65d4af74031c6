"""Company sign-in in a browser: set-up by an admin, sign-in at the provider, a refusal."""

import pytest
from playwright.sync_api import expect

from kmapp.accounts.models import Account, User
from tests.identity_provider import CLIENT_ID, SECRET, IdentityProvider
from tests.web.browser import Visitor
from tests.web.company_pages import SETTINGS, START

pytestmark = pytest.mark.browser
FIELDS = {
    "name": "Acme",
    "client_id": CLIENT_ID,
    "client_secret": SECRET,
    "email_domains": "acme.test",
    "groups_claim": "groups",
    "groups_editor": "staff",
}


def test_members_of_a_group_sign_in_through_the_company(
    visitor: Visitor, acme: Account, ada: User, identities: IdentityProvider
) -> None:
    identities.put("noor", groups=["staff"])
    identities.put("kim", groups=["kitchen"])
    page = visitor.page
    visitor.sign_in(ada)
    visitor.go(SETTINGS)
    for name, value in (FIELDS | {"issuer": identities.url}).items():
        page.fill(f"[name={name}]", value)
    for name in ("creates_logins", "allows_password", "is_listed", "is_active"):
        page.check(f"[name={name}]")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("[name=client_id]")).to_have_value(CLIENT_ID)
    for path in (SETTINGS, f"{SETTINGS}?protocol=saml", "/members/", "/members/roles/", START):
        assert visitor.inspect(path) == []
    visitor.prefers(theme="light", language="en")
    for person, heading in (("noor", "Home"), ("kim", "You have no access")):
        page.goto("about:blank")  # else the open page notices that it is signed out, and navigates
        page.context.clear_cookies()
        visitor.go("/sign-in/")
        page.get_by_role("link", name="Acme").click()
        page.fill("[name=sub]", person)
        page.locator("button[type=submit], input[type=submit]").first.click()
        expect(page.locator("h1")).to_contain_text(heading)
    expect(page.get_by_text("in no group of Acme")).to_be_visible()
