"""What a reviewer sees and where the focus is after the queue or its evidence has changed."""

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from kmapp.accounts.models import Account, User
from memory.actions import bulk_review as actions
from memory.views import bulk_review as pages
from tests import makers
from tests.web.browser import Visitor
from tests.web.proposals import propose

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("module_commits")]

PHONE = ViewportSize(width=390, height=800)


@pytest.fixture
def desk(visitor: Visitor, alice: User) -> Visitor:
    visitor.sign_in(alice)
    return visitor


def opened(page: Page, text: str) -> None:
    expect(page.locator(".proposal-text")).to_have_text(text)
    page.wait_for_load_state()


def test_focus_returns_to_the_queue_after_a_correction(desk: Visitor, acme: Account) -> None:
    propose(acme, "First words.", "Second words.")
    page = desk.page
    desk.go("/review/")
    opened(page, "First words.")
    page.keyboard.press("e")
    page.get_by_label("Text").fill("Better words.")
    page.keyboard.press("Control+Enter")
    opened(page, "Better words.")
    expect(page.locator("[data-opens] a:focus")).to_contain_text("Better words.")
    page.keyboard.press("e")
    page.get_by_label("Text").fill("Best words.")
    page.get_by_role("button", name="Save and approve").click()
    opened(page, "Second words.")
    expect(page.locator("[data-opens] a:focus")).to_contain_text("Second words.")


def test_proposal_opened_from_the_list_is_in_view_on_a_phone(desk: Visitor, acme: Account) -> None:
    propose(acme, *(f"Fact number {n} about warehouses." for n in range(12)))
    page = desk.page
    page.set_viewport_size(PHONE)
    desk.go("/review/")
    page.locator(".queue-list a").nth(10).click()
    opened(page, "Fact number 10 about warehouses.")
    expect(page.locator(".proposal-text")).to_be_in_viewport()


def test_long_similar_memory_does_not_push_the_evidence_away(desk: Visitor, acme: Account) -> None:
    words = " ".join(f"The shelf {n} holds green tea." for n in range(60))
    propose(acme, words, f"{words} The last shelf holds none.")
    makers.settle()
    page = desk.page
    desk.go("/review/")
    diff = page.locator(".other .is-long").first
    expect(diff).to_be_visible()
    box = diff.bounding_box()
    assert box
    assert box["height"] <= 320
    expect(diff).to_have_attribute("tabindex", "0")
    assert desk.find_accessibility_violations() == []


def test_export_menu_fits_a_phone(desk: Visitor, acme: Account) -> None:
    makers.agent(acme).write("The tea room opens at nine.")
    page = desk.page
    page.set_viewport_size(PHONE)
    desk.go("/memory/")
    page.locator(".list-bar summary", has_text="Export").click()
    panel = page.locator(".list-bar .menu[open] .menu-panel").bounding_box()
    assert panel
    assert panel["x"] >= 0
    assert panel["x"] + panel["width"] <= PHONE["width"]


def test_badge_follows_a_bulk_action(
    desk: Visitor, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (actions, pages):
        monkeypatch.setattr(module, "PART_SIZE", 2)
    propose(acme, "First words.", "Second words.", "Third words.")
    page = desk.page
    desk.go("/review/bulk/")
    page.get_by_role("button", name="Reject 3 proposals").click()
    badge = page.locator("[data-count='memory:review']").first
    expect(badge).to_have_text("3")
    makers.settle()
    expect(page.get_by_text("3 of 3 processed")).to_be_visible()
    expect(badge).to_have_text("")
