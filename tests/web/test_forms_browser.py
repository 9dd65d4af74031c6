"""Forms that are filled and sent in a browser."""

import pytest
from playwright.sync_api import Dialog, Locator, expect

from kmapp.accounts.models import User
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
    expect(words).to_have_value("tea")
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
    page.once("dialog", refuse)
    page.keyboard.press("Escape")
    expect(words).to_have_value("coffee")
    page.once("dialog", refuse)
    page.mouse.click(5, 5)
    expect(words).to_have_value("coffee")
    page.once("dialog", lambda dialog: dialog.accept())
    page.mouse.click(5, 5)
    expect(words).to_be_hidden()
    assert questions == ["Discard your changes?"] * 2
    page.locator("#open").click()
    expect(words).to_have_value("tea")
    page.keyboard.press("Escape")  # nothing was typed
    expect(words).to_be_hidden()
