"""Forms that are filled and sent in a browser."""

import pytest
from playwright.sync_api import Dialog, Route, expect
from pytest_django import Settings

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import add_member
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, ApiKey, User
from tests import makers
from tests.web.browser import Visitor
from tests.web.proposals import propose
from tests.web.test_page_account import REFUSAL

pytestmark = [
    pytest.mark.browser,
    pytest.mark.urls("tests.web.urls"),
    pytest.mark.usefixtures("module_commits"),
]
COVER_WITH_LINK = """
() => {
  const link = document.createElement("a");
  Object.assign(link, {rel: "next", href: "?page=2", textContent: "Next"});
  Object.assign(link.style, {position: "fixed", inset: "0", zIndex: "1000"});
  document.body.append(link);
}
"""


@pytest.fixture
def client(visitor: Visitor, ada: User) -> Visitor:
    visitor.sign_in(ada)
    visitor.go("/rows/")
    return visitor


def test_dialog_stays_for_selections_and_asks_before_words_are_discarded(client: Visitor) -> None:
    page = client.page
    questions: list[str] = []

    def refuse(dialog: Dialog) -> None:
        questions.append(dialog.message)
        dialog.dismiss()

    page.locator("#open").click()
    words = page.get_by_label("Words")
    words.hover()
    page.mouse.down()  # a selection that ends outside
    page.mouse.move(5, 5, steps=5)
    page.mouse.up()
    expect(words).to_be_visible()
    page.mouse.click(5, 5)
    expect(words).to_be_hidden()

    page.locator("#open").click()
    expect(words).to_be_visible()
    words.clear()
    words.press_sequentially("coffee")
    for _each in range(3):  # browsers let a page cancel only the first Escape in a row
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


def test_dialog_shows_refusals_and_keeps_what_was_typed(client: Visitor) -> None:
    page = client.page
    ask = "window.htmx.ajax('GET', '/refuses/', '#said').catch(() => null)"
    page.locator("#open").click()
    words = page.get_by_label("Words")
    words.fill("coffee")
    refusal = page.locator("#dialog").get_by_role("alert")
    page.evaluate(ask)
    expect(refusal).to_contain_text("Someone <b>approved</b> it first.")
    page.route("**/refuses/", lambda route: route.abort())
    page.evaluate(ask)
    expect(refusal).to_contain_text("Cannot reach the server")  # in place of the first one
    expect(words).to_have_value("coffee")
    refusal.get_by_role("button", name="Close").click()
    expect(refusal).to_have_count(0)
    expect(words).to_be_visible()


def test_edited_proposal_asks_before_another_one_is_opened(client: Visitor, acme: Account) -> None:
    propose(acme, "First words.", "Second words.")
    page = client.page
    client.go("/review/")
    second = page.locator("[data-opens] a", has_text="Second words.")
    page.keyboard.press("e")
    text = page.get_by_label("Text")
    expect(text).to_be_focused()
    text.fill("Other words.")
    page.once("dialog", lambda dialog: dialog.dismiss())
    second.click()
    expect(text).to_have_value("Other words.")
    page.once("dialog", lambda dialog: dialog.accept())
    second.click()
    expect(page.locator(".proposal-text")).to_have_text("Second words.")
    page.keyboard.press("e")
    expect(text).to_have_value("Second words.")
    page.locator("[data-opens] a", has_text="First words.").click()  # nothing was typed
    expect(page.locator(".proposal-text")).to_have_text("First words.")
    page.keyboard.press("a")
    expect(page.locator(".proposal-text")).to_have_text("Second words.")
    page.keyboard.press("e")
    text.fill("Other words.")
    undo = page.get_by_role("button", name="Undo")
    page.once("dialog", lambda dialog: dialog.dismiss())
    undo.click()
    expect(text).to_have_value("Other words.")
    page.once("dialog", lambda dialog: dialog.accept())
    undo.click()
    expect(page.locator(".proposal-text")).to_have_text("First words.")


def test_focus_follows_the_open_proposal_after_an_undo(client: Visitor, acme: Account) -> None:
    propose(acme, "First words.", "Second words.", "Third words.")
    page, text = client.page, client.page.locator(".proposal-text")
    client.go("/review/")
    opened = ("", "First"), ("j", "Second"), ("a", "Third"), ("u", "Second")
    for key, word in opened:
        if key:
            page.keyboard.press(key)
        expect(text).to_have_text(f"{word} words.")
    expect(page.locator("[data-opens] a:focus")).to_contain_text("Second words.")
    page.keyboard.press("x")
    expect(page.locator("[data-opens] .is-open input")).to_be_checked()


def test_form_is_sent_once_and_is_not_busy_when_it_comes_back(
    client: Visitor, acme: Account
) -> None:
    page = client.page
    client.go("/keys/new/")
    page.locator("[name=name]").fill("support bot")
    page.locator("form.narrow [type=submit]").dblclick()
    expect(page.get_by_role("heading", name="Your new API key")).to_be_visible()
    assert makers.count(ApiKey, acme) == 1
    client.go("/keys/new/")
    page.evaluate("window.addEventListener('submit', (event) => event.preventDefault())")  # stay
    page.locator("[name=name]").fill("support bot")
    page.locator("form.narrow [type=submit]").click()
    form = page.locator("form.narrow")
    expect(form).to_have_attribute("aria-busy", "true")
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    expect(form).not_to_have_attribute("aria-busy", "true")


def test_form_is_busy_until_the_answer_or_its_timeout(client: Visitor) -> None:
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
    page.evaluate("htmx.config.timeout = 100")
    page.get_by_role("button", name="Send").click()  # no answer comes
    # The notice does not claim that nothing was sent.
    expect(page.get_by_role("alert")).to_contain_text("No answer yet. Your change may be saved")
    page.get_by_role("button", name="Close").click()
    page.route("**/rows/", lambda route: route.abort())  # nor if the connection breaks
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_contain_text("No answer yet. Your change may be saved")


def test_second_click_of_a_double_click_does_nothing_to_what_came_in(client: Visitor) -> None:
    page, mouse = client.page, client.page.mouse
    first, second = page.locator("#row-1"), page.locator("#row-2")
    place = first.get_by_role("button", name="Drop").bounding_box()
    assert place
    mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    for number in (1, 2):
        mouse.down(click_count=number)
        mouse.up(click_count=number)
        expect(first).to_have_count(0)
        expect(page.locator(".htmx-request, .htmx-settling")).to_have_count(0)
    page.wait_for_timeout(200)
    expect(second).to_be_visible()
    mouse.down()
    mouse.up()
    expect(second).to_have_count(0)


def test_second_click_of_a_double_click_opens_the_next_page(client: Visitor) -> None:
    page, mouse = client.page, client.page.mouse
    first = page.locator("#row-1")
    place = first.get_by_role("button", name="Drop").bounding_box()
    assert place
    mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    mouse.down(click_count=1)
    mouse.up(click_count=1)
    expect(first).to_have_count(0)
    page.evaluate(COVER_WITH_LINK)
    mouse.down(click_count=2)
    mouse.up(click_count=2)
    expect(page).to_have_url(f"{client.base}/rows/?page=2")


def test_refused_verification_says_why(client: Visitor, settings: Settings) -> None:
    settings.THROTTLES = {**settings.THROTTLES, "verify": 1}
    page = client.page
    client.go("/ledger/")
    button = page.get_by_role("button", name="Verify the ledger")
    button.click()
    expect(page.locator("#checked section")).to_be_visible()
    button.click()
    expect(page.get_by_role("alert")).to_contain_text("Too many checks.")


def test_download_can_be_repeated(client: Visitor) -> None:
    page = client.page
    client.go("/memory/")
    page.locator("summary", has_text="Export").click()
    for _each in range(2):
        with page.expect_download():
            page.get_by_role("button", name="CSV").click()


def test_tab_that_was_left_open_changes_nothing(
    client: Visitor, ada: User, acme: Account, rival: Account
) -> None:
    with acting(rival):
        add_member(account_id=rival.pk, user=ada, role="admin", actor=SYSTEM)
    form, listing, other = client.page, *(client.page.context.new_page() for _ in range(2))
    client.go("/keys/new/")
    listing.goto(f"{client.base}/memory/")
    other.goto(client.base)
    other.locator(".rail-foot summary[title=Account]").click()
    other.locator(".rail-foot").get_by_role("button", name="Rival").click()
    expect(other.locator(".rail-foot summary[title=Account]")).to_contain_text("Rival")
    listing.select_option("#id_kind", "fact")
    expect(listing.get_by_role("alert")).to_contain_text(REFUSAL)
    form.locator("[name=name]").fill("support bot")
    form.locator("form.narrow [type=submit]").click()
    expect(form.get_by_text(REFUSAL)).to_be_visible()
    assert makers.count(ApiKey, acme) == makers.count(ApiKey, rival) == 0
    for tab in (listing, other):
        tab.close()
