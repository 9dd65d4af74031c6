"""The page that shows the API, and lets one try it, under the policy of every page."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from kmapp.accounts.models import ApiKey
from tests.web.browser import Visitor

pytestmark = pytest.mark.browser


def test_endpoint_can_be_tried_with_a_key(visitor: Visitor, key: tuple[ApiKey, str]) -> None:
    page = visitor.page
    visitor.go("/v1/docs")
    page.get_by_role("button", name="Authorize").first.click()
    page.get_by_label("auth-bearer-value").fill(key[1])
    page.get_by_role("button", name="Apply credentials").last.click()
    page.get_by_role("button", name="Close").last.click()
    page.locator("#operations-memory-memory_commits_get .opblock-summary-control").click()
    page.get_by_role("button", name="Execute").click()
    answer = page.locator(".live-responses-table .response-col_status").nth(1)
    expect(answer).to_contain_text("200")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_docs_are_accessible(visitor: Visitor, theme: str) -> None:
    visitor.prefers(theme=theme, language="en")
    visitor.go("/v1/docs")
    visitor.page.locator(".opblock-post .opblock-summary-control").first.click()
    expect(visitor.page.locator(".opblock-body .responses-table").first).to_be_visible()
    found = Axe().run(visitor.page).response["violations"]
    assert [(rule["id"], node["html"]) for rule in found for node in rule["nodes"]] == []
