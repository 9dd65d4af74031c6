"""Forms that are filled and sent in a browser."""

import pytest
from playwright.sync_api import Dialog, Locator, Route, expect

from kmapp.accounts.models import Account, ApiKey, User
from tests import makers
from tests.web.browser import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.urls("tests.web.urls")]


@pytest.fixture
def client(visitor: Visitor, ada: User) -> Visitor:
    visitor.sign_in(ada)
    visitor.go("/rows/")
    return visitor


@pytest.fixture
def words(client: Visitor) -> Locator:
    """The field of an open dialog."""
    client.page.locator("#open").click()
    words = client.page.get_by_label("Words")
    expect(words).to_be_visible()
    return words


def test_selection_that_ends_outside_keeps_the_dialog(client: Visitor, words: Locator) -> None:
    words.hover()
    mouse = client.page.mouse
    mouse.down()
    mouse.move(5, 5, steps=5)
    mouse.up()
    expect(words).to_be_visible()
    mouse.click(5, 5)
    expect(words).to_be_hidden()


def test_typed_words_are_discarded_on_confirmation(client: Visitor, words: Locator) -> None:
    page = client.page
    questions: list[str] = []

    def refuse(dialog: Dialog) -> None:
        questions.append(dialog.message)
        dialog.dismiss()

    words.clear()
    words.press_sequentially("coffee")
    for _each in range(3):  # browsers ignore the refusal of a second one in a row
        page.once("dialog", refuse)
        page.keyboard.press("Escape")
        expect(words).to_have_value("coffee")
    page.once("dialog", refuse)
    page.mouse.click(5, 5)
    expect(words).to_have_value("coffee")
    page.once("dialog", lambda dialog: dialog.accept())
    page.mouse.click(5, 5)
    expect(words).to_be_hidden()
    assert questions == ["Discard your changes?"] * 4
    page.locator("#open").click()
    expect(words).to_be_visible()
    page.keyboard.press("Escape")  # nothing was typed
    expect(words).to_be_hidden()


def test_double_click_creates_one_key(client: Visitor, acme: Account) -> None:
    client.go("/keys/new/")
    client.page.locator("[name=name]").fill("support bot")
    client.page.locator("form.narrow [type=submit]").dblclick()
    expect(client.page.get_by_role("heading", name="Your new API key")).to_be_visible()
    assert makers.count(ApiKey, acme) == 1


def test_form_is_busy_until_the_answer(client: Visitor) -> None:
    page = client.page
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/rows/", hold)
    form = page.locator("form", has=page.locator("#note"))
    for _each in range(2):
        page.get_by_role("button", name="Send").click()
    expect(form).to_have_attribute("aria-busy", "true")
    page.wait_for_timeout(200)
    [route] = held
    route.fulfill()
    expect(form).not_to_have_attribute("aria-busy", "true")
    page.wait_for_timeout(200)
    assert len(held) == 1


def test_page_that_comes_back_is_not_busy(client: Visitor) -> None:
    page = client.page
    client.go("/keys/new/")
    page.evaluate("window.addEventListener('submit', (event) => event.preventDefault())")  # stay
    page.locator("[name=name]").fill("support bot")
    page.locator("form.narrow [type=submit]").click()
    form = page.locator("form.narrow")
    expect(form).to_have_attribute("aria-busy", "true")
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    expect(form).not_to_have_attribute("aria-busy", "true")


def test_download_can_be_repeated(client: Visitor) -> None:
    page = client.page
    client.go("/memory/")
    page.locator("summary", has_text="Export").click()
    for _each in range(2):
        with page.expect_download():
            page.get_by_role("button", name="CSV").click()


def test_timeout_does_not_say_that_nothing_was_sent(client: Visitor) -> None:
    page = client.page
    page.route("**/rows/", lambda route: None)  # no answer comes
    page.evaluate("htmx.config.timeout = 100")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_contain_text("No answer yet. Your change may be saved")
