"""The search palette and the results page in a browser."""

import pytest
from playwright.sync_api import Browser, expect

from kmapp.accounts.models import Account, User
from tests import makers
from tests.web.browser import Visitor

pytestmark = pytest.mark.browser


def test_palette_finds_and_opens_by_keyboard(reviewer_visitor: Visitor, acme: Account) -> None:
    first, second = makers.write(acme, "The kettle sings.", "A kettle.")
    page = reviewer_visitor.page
    reviewer_visitor.go("/lore/")
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Search everything")
    field = palette.get_by_role("combobox")
    expect(field).to_be_focused()
    expect(palette.get_by_role("option", name="New rule")).to_be_visible()
    page.keyboard.type("kettle")
    options = palette.get_by_role("option")
    expect(options).to_have_count(2)
    expect(options.first).to_have_attribute("aria-selected", "true")
    expect(field).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowDown")
    expect(options.last).to_have_attribute("aria-selected", "true")
    chosen = str(options.last.get_attribute("id"))
    expect(field).to_have_attribute("aria-activedescendant", chosen)
    assert reviewer_visitor.barriers() == []
    page.keyboard.press("ArrowDown")  # from the last to the first
    expect(options.first).to_have_attribute("aria-selected", "true")
    href = str(options.first.get_attribute("href"))
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{href}")
    assert href in (f"/memory/{first.pk}/", f"/memory/{second.pk}/")


def test_enter_opens_what_was_typed_last(reviewer_visitor: Visitor, acme: Account) -> None:
    [entry] = makers.write(acme, "The kettle sings.")
    page = reviewer_visitor.page
    reviewer_visitor.go("/")
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Search everything")
    page.keyboard.type("lore")
    first = palette.get_by_role("option").first
    expect(first).to_have_attribute("aria-selected", "true")
    palette.get_by_role("combobox").fill("kettle")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/memory/{entry.pk}/")


def test_palette_explains_bad_filters_and_traps_the_focus(reviewer_visitor: Visitor) -> None:
    page = reviewer_visitor.page
    reviewer_visitor.go("/")
    page.get_by_role("button", name="Open the search palette").click()
    palette = page.get_by_role("dialog", name="Search everything")
    page.keyboard.type("colour:red")
    expect(palette.get_by_role("status")).to_contain_text("There is no filter “colour:”")
    expect(palette.get_by_role("combobox")).to_have_attribute("aria-expanded", "false")
    for _each in range(4):
        page.keyboard.press("Tab")
        outside = "document.activeElement.closest('dialog, body') === document.body"
        focus_is_behind = f"document.activeElement !== document.body && {outside}"
        assert not page.evaluate(focus_is_behind)
    palette.get_by_role("combobox").focus()
    page.keyboard.press("Enter")  # no option: the results page explains it as well
    page.wait_for_url("**/search/?q=colour%3Ared")
    expect(page.get_by_text("There is no filter “colour:”")).to_be_visible()
    page.keyboard.press("Control+k")
    expect(palette).to_be_visible()
    page.keyboard.press("Escape")
    expect(palette).to_be_hidden()


def test_search_is_saved_as_typed_last(reviewer_visitor: Visitor) -> None:
    page = reviewer_visitor.page
    reviewer_visitor.go("/search/?q=kettle")
    page.get_by_role("searchbox").fill("teapot")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search/?q=teapot")
    page.get_by_role("button", name="Save search").click()
    expect(page.locator("#notices")).to_contain_text("Search saved.")
    assert page.url.endswith("?q=teapot")


def test_palette_opens_after_going_back(reviewer_visitor: Visitor) -> None:
    page = reviewer_visitor.page
    reviewer_visitor.go("/search/")
    page.keyboard.type("kettle")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search/?q=kettle")
    with page.expect_event("load"):  # a part would leave scripts with elements that are gone
        page.go_back()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Search everything")).to_be_visible()


def test_search_needs_no_javascript(
    browser: Browser, site: str, alice: User, acme: Account
) -> None:
    [entry] = makers.write(acme, "The kettle sings.")
    context = browser.new_context(java_script_enabled=False)
    visitor = Visitor(context.new_page(), site)
    visitor.sign_in(alice)
    visitor.go("/lore/")
    visitor.page.get_by_role("searchbox", name="Search everything").fill("kettles")
    visitor.page.keyboard.press("Enter")
    visitor.page.get_by_role("link", name="The kettle sings.").click()
    visitor.page.wait_for_url(f"**/memory/{entry.pk}/")
    context.close()


def test_results_are_accessible(reviewer_visitor: Visitor, acme: Account) -> None:
    makers.write(acme, *(f"The kettle number {n} sings." for n in range(12)))
    for path in ("/search/", "/search/?q=kettle", "/search/?q=colour:red"):
        assert reviewer_visitor.inspect(path) == []
    reviewer_visitor.shoot(search="/search/?q=kettle")
