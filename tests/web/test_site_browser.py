"""Shortcuts, notices and dialogs in a browser."""

import pytest
from playwright.sync_api import Browser, Page, expect

from kmapp.accounts.models import Account, User
from memory.models.entry_input import NewEntry
from tests import makers
from tests.makers import PASSWORD
from tests.web.browser import Visitor

pytestmark = [
    pytest.mark.browser,
    pytest.mark.urls("tests.web.urls"),
    pytest.mark.usefixtures("module_commits"),
]
NOTE_PRESSES = """
window.presses = [];
document.addEventListener("click", ({target}) => {
  const button = target.closest("[data-press]");
  if (button) window.presses.push(button.dataset.press);
});
"""


@pytest.fixture
def client(visitor: Visitor, alice: User) -> Visitor:
    visitor.sign_in(alice)
    visitor.page.add_init_script(NOTE_PRESSES)
    visitor.go("/rows/")
    return visitor


def presses(page: Page) -> list[str]:
    """Return the buttons that were pressed since the last call."""
    names: list[str] = page.evaluate("window.presses.splice(0)")
    return names


def test_shortcut_presses_its_button_unless_someone_types(client: Visitor) -> None:
    page = client.page
    page.keyboard.press("a")
    page.keyboard.press("x")  # hidden: not pressed
    assert presses(page) == ["page"]
    for modifier in ("Control", "Alt", "Meta"):
        page.keyboard.press(f"{modifier}+a")
    assert presses(page) == []
    dispatch = "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', bubbles: true"
    for how in ("isComposing: true", "keyCode: 229", "repeat: true"):
        page.evaluate(f"{dispatch}, {how}}}))")
        assert presses(page) == [], how
    page.evaluate(f"{dispatch}}}))")
    assert presses(page) == ["page"]
    page.locator("#text").focus()
    page.keyboard.press("a")
    assert presses(page) == []
    expect(page.locator("#text")).to_have_value("a")


def test_shortcuts_are_listed_and_can_be_disabled(client: Visitor, alice: User) -> None:
    page = client.page
    page.keyboard.press("?")
    sheet = page.locator("#keys-sheet")
    expect(sheet).to_be_visible()
    terms = sheet.locator("dt").all_inner_texts()
    assert {"Next and previous row", "Approve all", "Pin", "Drop", "Send"} <= set(terms)
    assert "Hidden" not in terms
    page.keyboard.press("a")
    assert presses(page) == [], "a dialog is open"
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    approve = page.get_by_role("button", name="Approve all")
    expect(approve).to_have_attribute("aria-keyshortcuts", "a")
    User.objects.filter(pk=alice.pk).update(keyboard_shortcuts=False)
    client.go("/rows/")
    page.keyboard.press("a")
    assert presses(page) == []
    expect(approve).not_to_have_attribute("aria-keyshortcuts", "a")


def test_keys_move_between_rows_and_submit_the_form(client: Visitor) -> None:
    page = client.page
    page.keyboard.press("p")  # no row yet
    for key in ("j", "j", "p", "k", "p"):
        page.keyboard.press(key)
    assert presses(page) == ["pin-2", "pin-1"]
    page.keyboard.press("j")
    page.keyboard.press("d")
    expect(page.locator("#row-2")).to_have_count(0)
    expect(page.locator("#row-3 a")).to_be_focused()
    page.locator("#note").fill("because")
    page.keyboard.press("Control+Enter")
    assert presses(page) == ["sent"]


def test_focus_moves_only_if_its_row_is_swapped_away(client: Visitor) -> None:
    page = client.page
    page.locator("#row-2 a").focus()
    page.evaluate("window.htmx.ajax('GET', '/tells/', '#said')")
    expect(page.locator(".notice", has_text="Approved")).to_be_visible()
    expect(page.locator(".htmx-settling")).to_have_count(0)
    page.wait_for_timeout(100)
    page.locator("#row-2 a").blur()
    page.evaluate("document.getElementById('content').append(document.createElement('p'))")
    assert page.evaluate("document.activeElement === document.body")


def test_keys_during_htmx_settling_go_to_the_field(client: Visitor) -> None:
    page = client.page
    settling = "document.querySelector('#row-1').classList.{}('htmx-settling')"
    page.evaluate(settling.format("add"))
    page.keyboard.press("a")  # waits until htmx has settled
    page.keyboard.press("/")
    page.keyboard.type("apple pie")
    expect(page.get_by_label("Search everything").first).to_have_value("apple pie")
    assert presses(page) == []
    page.evaluate(settling.format("remove"))
    pressed: list[str] = []
    for _each in range(50):  # the policy forbids the `eval` of `wait_for_function`
        if pressed := presses(page):
            break
        page.wait_for_timeout(100)
    assert len(pressed) == 1


def test_notice_offers_undo_and_disappears(client: Visitor) -> None:
    page = client.page
    page.clock.install()
    client.go("/rows/")
    page.locator("#tell").click()
    undo = page.get_by_role("button", name="Undo")
    expect(undo).to_be_visible()
    page.clock.fast_forward(9_000)
    undo.focus()
    page.clock.fast_forward(20_000)
    expect(undo).to_be_visible()  # held by the focus
    page.locator("#tell").focus()
    page.clock.fast_forward(3_000)
    expect(undo).to_have_count(0)


def test_dialog_returns_the_focus_and_errors_stay_visible(client: Visitor) -> None:
    page = client.page
    page.locator("#open").click()
    expect(page.get_by_role("dialog", name="Box", exact=True)).to_be_visible()
    page.locator("#dialog [data-close]").click()
    expect(page.locator("#dialog")).to_be_hidden()
    expect(page.locator("#open")).to_be_focused()
    page.locator("#refuse").click()
    expect(page.get_by_role("alert")).to_contain_text("Someone <b>approved</b> it first.")
    page.get_by_role("button", name="Close").click()
    page.locator("#fail").click()
    expect(page.get_by_role("alert")).to_contain_text(
        "Nothing on this page was changed. Try again. (500)"
    )
    page.get_by_role("button", name="Close").click()
    page.route("**/breaks/", lambda route: route.abort())
    page.locator("#fail").click()
    expect(page.get_by_role("alert")).to_contain_text("Cannot reach the server")


def test_collapsed_group_stays_collapsed(client: Visitor) -> None:
    page = client.page
    calls = page.locator(".rail-groups").get_by_role("link", name="Calls")
    page.locator(".rail-heading", has_text="Agents").first.click()
    expect(calls).to_be_hidden()
    client.go("/")
    expect(calls).to_be_hidden()
    page.locator(".rail-heading", has_text="Agents").first.press("Enter")
    expect(calls).to_be_visible()
    client.go("/")
    expect(calls).to_be_visible()


def test_long_titles_wrap(client: Visitor, acme: Account) -> None:
    title = "Here is what I found about the autumn tea ceremony " * 9
    [entry] = makers.write(acme, NewEntry(text="Tea.", title=title.strip()))
    cut = "document.querySelector('h1').scrollWidth > document.querySelector('h1').clientWidth"
    for width in (320, 900, 1280):
        client.page.set_viewport_size({"width": width, "height": 800})
        client.go(f"/memory/{entry.pk}/")
        expect(client.page.get_by_role("heading", level=1)).to_have_text(title.strip())
        assert not client.page.evaluate(cut)


def test_sign_in_and_search_need_no_javascript(
    browser: Browser, site: str, alice: User, acme: Account
) -> None:
    [entry] = makers.write(acme, "The kettle sings.")
    page = browser.new_page(java_script_enabled=False)
    page.goto(f"{site}/tells/")
    page.get_by_label("Name or e-mail").fill(alice.username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("status", name="Notifications")).to_contain_text("Approved")
    page.goto(f"{site}/lore/")
    page.get_by_role("searchbox", name="Search everything").fill("kettles")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="The kettle sings.").click()
    page.wait_for_url(f"**/memory/{entry.pk}/")
    page.close()


def test_pages_are_accessible(visitor: Visitor, alice: User) -> None:
    errors = [*visitor.inspect("/sign-in/"), *visitor.inspect("/nowhere/")]
    visitor.sign_in(alice)
    for path in ("/", "/rows/", "/refuses/"):
        errors += visitor.inspect(path)
    assert errors == []
