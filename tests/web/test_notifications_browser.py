"""The bell in a browser: a proposal is announced and opened; choices are saved."""

import pytest
from playwright.sync_api import expect

from kmapp.accounts.models import Account, User
from tests import makers
from tests.web.browser import Visitor
from tests.web.proposals import propose

pytestmark = pytest.mark.browser


def test_a_proposal_is_announced_and_opened(visitor: Visitor, acme: Account, ada: User) -> None:
    propose(acme, "Tea is at five.")
    makers.settle()
    visitor.sign_in(ada)
    visitor.go("/")
    page = visitor.page
    bell = page.locator(".bell")
    expect(bell).to_contain_text("1")
    bell.click()
    page.get_by_role("link", name="1 proposal needs review").click()
    expect(page.locator("h1")).to_contain_text("Review")
    for path in ("/", "/notifications/", "/notifications/?state=resolved", "/webhooks/new/"):
        assert visitor.inspect(path) == []
    assert visitor.inspect("/notifications/settings/") == []
    assert visitor.inspect("/unsubscribe/x/") == []
    visitor.prefers(theme="light", language="en")
    visitor.go("/notifications/settings/")
    page.locator("select[name^=email]").first.select_option("never")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("select[name^=email]").first).to_have_value("never")
