"""The search palette, the results page, and the list and the page of a memory in a browser."""

import pytest
from playwright.sync_api import expect

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from memory.actions.review import edit
from memory.models import MemoryEntry
from memory.models.entry_input import NewEntry
from tests import makers
from tests.web.browser import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("module_commits")]


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
    assert reviewer_visitor.find_accessibility_violations() == []
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
    with page.expect_event("load"):  # a swap would leave scripts with elements that were removed
        page.go_back()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Search everything")).to_be_visible()


def test_palette_leads_to_the_sign_in_and_back(reviewer_visitor: Visitor) -> None:
    page = reviewer_visitor.page
    reviewer_visitor.go("/lore/")
    page.context.clear_cookies()
    page.keyboard.press("Control+k")
    page.wait_for_url("**/sign-in/?next=/lore/")


def test_results_are_accessible(reviewer_visitor: Visitor, acme: Account) -> None:
    makers.write(acme, *(f"The kettle number {n} sings." for n in range(12)))
    for path in ("/search/", "/search/?q=kettle", "/search/?q=colour:red"):
        assert reviewer_visitor.inspect(path) == []
    reviewer_visitor.shoot(search="/search/?q=kettle")


@pytest.fixture
def entries(acme: Account) -> list[MemoryEntry]:
    return makers.write(
        acme,
        NewEntry(text="The gate opens at nine.", user_id="u", client_id="a", tags=["gate"]),
        NewEntry(text="Ben plays chess.", user_id="u", kind="event", client_id="b"),
        edges=[makers.edge("mentions", "b", "a")],
    )


def create_contradiction(account: Account, entry: MemoryEntry, text: str) -> None:
    with acting(account):
        edit(makers.decision(entry), {"content": text})


def test_memory_is_found_and_edited_with_a_conflict(
    visitor: Visitor, acme: Account, ada: User, entries: list[MemoryEntry]
) -> None:
    visitor.sign_in(ada)
    visitor.go("/memory/")
    page = visitor.page
    rows = page.locator("#entries [data-row]")
    page.select_option("#id_kind", "fact")
    expect(rows).to_have_count(1)
    assert "kind=fact" in page.url
    page.go_back()
    expect(rows).to_have_count(2)
    page.keyboard.press("/")
    page.keyboard.type("gate")
    page.keyboard.press("Enter")
    expect(page.locator("#entries")).to_contain_text("Results for “gate”")
    gate = page.locator(f"#entry-{entries[0].pk}")
    gate.locator("a.strong").focus()
    page.keyboard.press("e")
    dialog = page.locator("#dialog")
    text = dialog.locator("textarea[name=content]")
    expect(text).to_have_value("The gate opens at nine.")
    text.fill("The gate opens at eleven.")
    create_contradiction(acme, entries[0], "The gate opens at ten.")
    page.keyboard.press("Control+Enter")
    expect(dialog).to_contain_text("your input is still here")
    expect(text).to_have_value("The gate opens at eleven.")
    text.focus()
    page.keyboard.press("Control+Enter")
    expect(dialog).to_be_hidden()
    expect(gate).to_contain_text("at eleven.")
    page.keyboard.press("u")
    expect(page.locator("#notices")).to_contain_text("Undone")
    assert makers.get(MemoryEntry, acme, pk=entries[0].pk).content == "The gate opens at ten."


def test_memory_pages_are_accessible(
    visitor: Visitor, acme: Account, ada: User, entries: list[MemoryEntry]
) -> None:
    create_contradiction(acme, entries[0], "The gate opens at ten.")
    visitor.sign_in(ada)
    errors = []
    for path in (
        "/memory/?column=run&column=importance&column=updated&tier=odd",
        f"/memory/{entries[0].pk}/?from=1&to=2&at=2027-01-01T00:00",
        f"/memory/{entries[0].pk}/edit/",
        f"/memory/erase/?id={entries[0].pk}",
        "/memory/forget/?status=active",
    ):
        errors += visitor.inspect(path)
    assert errors == []
