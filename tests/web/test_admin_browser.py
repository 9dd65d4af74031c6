"""The stock admin in a browser: it works under our policy, in both languages."""

import pytest
from playwright.sync_api import expect

from kmapp.accounts.models import Account, User
from tests.web.browser import Visitor
from tests.web.staff import fill, staff

pytestmark = pytest.mark.browser

PAGES = (
    "/admin/",
    "/admin/memory/memoryentry/",
    "/admin/memory/memoryentry/?status__exact=active",
    "/admin/ledger/commit/",
    "/admin/accounts/user/",
    "/admin/accounts/user/add/",
    "/admin/password_change/",
)


@pytest.fixture
def boss(acme: Account) -> User:
    fill(acme)
    return staff(acme, "boss")


@pytest.mark.parametrize(("language", "word"), [("en", "Log out"), ("zh-hans", "注销")])
def test_admin_works_under_policy(visitor: Visitor, boss: User, language: str, word: str) -> None:
    """The visitor fails when the browser refused anything of a page."""
    visitor.sign_in(boss)
    visitor.prefers(theme="auto", language=language)
    for path in PAGES:
        visitor.go(path)
        expect(visitor.page.locator("#logout-form")).to_contain_text(word)
    visitor.go("/admin/memory/memoryentry/")
    visitor.page.locator("#result_list tbody th a").first.click()
    expect(visitor.page.locator(".field-content")).to_contain_text("Acme keeps thing")


def test_rows_are_selected_and_pinned(visitor: Visitor, boss: User) -> None:
    visitor.sign_in(boss)
    visitor.go("/admin/memory/memoryentry/")
    visitor.page.locator("#action-toggle").check()
    visitor.page.locator("select[name=action]").select_option("pin")
    visitor.page.locator("button[name=index]").click()
    expect(visitor.page.locator(".messagelist")).to_contain_text("2 rows were changed.")
