"""Shortcuts, notices and dialogs in a browser."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from kmapp.accounts.models import Account, User
from memory.models.entry_input import NewEntry
from tests import makers
from tests.makers import PASSWORD
from tests.web.browser import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.urls("tests.web.urls")]
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


def presses(page: Page) -> Any:
    return page.evaluate("window.presses")


def test_shortcut_presses_its_button(client: Visitor) -> None:
    client.page.keyboard.press("a")
    client.page.keyboard.press("x")  # hidden: not pressed
    assert presses(client.page) == ["page"]


def test_shortcut_is_off_while_typing(client: Visitor) -> None:
    client.page.locator("#text").focus()
    client.page.keyboard.press("a")
    assert presses(client.page) == []
    expect(client.page.locator("#text")).to_have_value("a")


def test_modifiers_disable_shortcuts(client: Visitor) -> None:
    for modifier in ("Control", "Alt", "Meta"):
        client.page.keyboard.press(f"{modifier}+a")
    assert presses(client.page) == []


def test_composition_and_key_repeat_are_ignored(client: Visitor) -> None:
    for how in ("isComposing: true", "keyCode: 229", "repeat: true"):
        event = f"new KeyboardEvent('keydown', {{key: 'a', bubbles: true, {how}}})"
        client.page.evaluate(f"document.body.dispatchEvent({event})")
    assert presses(client.page) == []
    client.page.evaluate(
        "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', bubbles: true}))"
    )
    assert presses(client.page) == ["page"]


def test_shortcut_is_off_behind_a_dialog(client: Visitor) -> None:
    client.page.keyboard.press("?")
    expect(client.page.locator("#keys-sheet")).to_be_visible()
    client.page.keyboard.press("a")
    assert presses(client.page) == []
    client.page.keyboard.press("Escape")
    expect(client.page.locator("#keys-sheet")).to_be_hidden()


def test_disabled_shortcuts_are_not_announced(client: Visitor, alice: User) -> None:
    approve = client.page.get_by_role("button", name="Approve all")
    expect(approve).to_have_attribute("aria-keyshortcuts", "a")
    User.objects.filter(pk=alice.pk).update(keyboard_shortcuts=False)
    client.go("/rows/")
    client.page.keyboard.press("a")
    assert presses(client.page) == []
    expect(approve).not_to_have_attribute("aria-keyshortcuts", "a")


def test_shortcut_list_shows_the_page_shortcuts(client: Visitor) -> None:
    client.page.keyboard.press("?")
    sheet = client.page.locator("#keys-sheet")
    terms = sheet.locator("dt").all_inner_texts()
    assert {"Next and previous row", "Approve all", "Pin", "Drop", "Send"} <= set(terms)
    assert "Hidden" not in terms


def test_j_and_k_move_between_rows(client: Visitor) -> None:
    page = client.page
    page.keyboard.press("p")  # no row yet
    for key in ("j", "j", "p", "k", "p"):
        page.keyboard.press(key)
    assert presses(page) == ["pin-2", "pin-1"]


def test_control_enter_submits_the_form(client: Visitor) -> None:
    client.page.locator("#note").fill("because")
    client.page.keyboard.press("Control+Enter")
    assert presses(client.page) == ["sent"]


def test_keys_during_htmx_settling_go_to_the_field(client: Visitor) -> None:
    settling = "document.querySelector('#row-1').classList.{}('htmx-settling')"
    client.page.evaluate(settling.format("add"))
    client.page.keyboard.press("a")  # a key waits
    client.page.keyboard.press("/")
    client.page.keyboard.type("apple pie")
    expect(client.page.get_by_label("Search everything").first).to_have_value("apple pie")
    assert presses(client.page) == []
    client.page.evaluate(settling.format("remove"))
    for _each in range(50):  # a page of ours evaluates no text that it would wait by
        if presses(client.page):
            break
        client.page.wait_for_timeout(100)
    assert len(presses(client.page)) == 1


def test_next_row_gets_the_focus(client: Visitor) -> None:
    page = client.page
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("d")
    expect(page.locator("#row-2")).to_have_count(0)
    expect(page.locator("#row-3 a")).to_be_focused()


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


def test_errors_stay_visible(client: Visitor) -> None:
    page = client.page
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


def test_dialog_returns_the_focus(client: Visitor) -> None:
    page = client.page
    page.locator("#open").click()
    expect(page.locator("#dialog")).to_be_visible()
    page.locator("#dialog [data-close]").click()
    expect(page.locator("#dialog")).to_be_hidden()
    expect(page.locator("#open")).to_be_focused()


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


def test_sign_in_needs_no_javascript(browser: Browser, site: str, alice: User) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(f"{site}/tells/")
    page.get_by_label("Name or e-mail").fill("alice")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("status", name="Notifications")).to_contain_text("Approved")
    page.close()


@pytest.mark.parametrize("path", ["/sign-in/", "/", "/rows/", "/refuses/", "/nowhere/"])
def test_pages_are_accessible(visitor: Visitor, alice: User, path: str) -> None:
    if path not in ("/sign-in/", "/nowhere/"):
        visitor.sign_in(alice)
    assert visitor.inspect(path) == []
