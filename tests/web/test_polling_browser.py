"""Polled parts of pages in a browser: outages, sign-outs and refusals."""

from typing import Any

import pytest
from playwright.sync_api import expect

from kmapp.accounts.models import User
from tests.web.browser import Visitor

pytestmark = [
    pytest.mark.browser,
    pytest.mark.urls("tests.web.urls"),
    pytest.mark.usefixtures("module_commits"),
]


@pytest.fixture
def client(visitor: Visitor, alice: User) -> Visitor:
    visitor.sign_in(alice)
    visitor.page.clock.install()
    return visitor


def test_stale_data_is_marked(client: Visitor) -> None:
    page = client.page
    answers = [(200, "second"), (503, ""), (503, ""), (304, ""), (200, "third")]
    query: list[str] = []

    def answer(route: Any) -> None:
        query.append(route.request.headers.get("if-none-match", ""))
        status, body = answers[min(len(query), len(answers)) - 1]
        headers = {"ETag": '"v2"'} if status == 200 else {}
        route.fulfill(status=status, body=body, headers=headers, content_type="text/html")

    def poll(milliseconds: int) -> None:
        """Advance the clock to the next request, and let the page schedule the one after it."""
        with page.expect_response("**/polled/"):
            page.clock.run_for(milliseconds)
        page.wait_for_timeout(200)

    page.route("**/polled/", answer)
    client.go("/rows/")
    polled, stale = page.locator("#polled"), page.locator("#stale")
    poll(15_100)
    expect(polled).to_have_text("second")
    poll(15_100)
    expect(stale).to_be_hidden()
    poll(30_100)
    expect(stale).to_be_visible()
    expect(polled).to_have_text("second")
    poll(60_100)
    expect(stale).to_be_hidden()
    poll(15_100)
    expect(polled).to_have_text("third")
    assert query[:5] == ["", '"v2"', '"v2"', '"v2"', '"v2"']


def test_polling_pauses_under_the_pointer(client: Visitor) -> None:
    page = client.page
    page.route("**/polled/", lambda route: route.fulfill(body="news", content_type="text/html"))
    client.go("/rows/")
    polled = page.locator("#polled")
    before = polled.inner_text()
    polled.hover()
    page.clock.run_for(20_000)
    expect(polled).to_have_text(before)
    page.mouse.move(0, 0)
    page.clock.run_for(2_000)
    expect(polled).to_have_text("news")


def test_polling_leads_to_the_sign_in(client: Visitor) -> None:
    page = client.page
    pages: list[str] = []

    def answer(route: Any) -> None:
        pages.append(route.request.headers["hx-current-url"])
        route.fulfill(status=401, headers={"HX-Redirect": "/lore/"})

    page.route("**/polled/", answer)
    client.go("/rows/?x=1")
    page.clock.run_for(15_100)
    page.wait_for_url("**/lore/")
    assert pages == [f"{client.base}/rows/?x=1"]


@pytest.mark.parametrize("status", [401, 200])  # the session, or a step of the sign-in is missing
def test_signed_out_page_stays_while_someone_types(client: Visitor, status: int) -> None:
    page = client.page

    def answer(route: Any) -> None:
        route.fulfill(status=status, headers={"HX-Redirect": "/lore/"})

    page.route("**/polled/", answer)
    client.go("/rows/")
    page.locator("#note").fill("because")
    for _each in range(3):
        with page.expect_response("**/polled/"):
            page.clock.run_for(15_100)
        page.wait_for_timeout(200)
    expect(page.locator("#stale")).to_be_hidden()
    expect(page.locator("#polled")).to_have_text("first")
    page.locator("#note").blur()
    page.clock.run_for(15_100)
    page.wait_for_url("**/lore/")


def count_polls(client: Visitor, *statuses: int) -> int:
    """Answer the polls of three minutes with these statuses, the last one repeatedly."""
    page = client.page
    remaining = list(statuses)
    requests: list[str] = []

    def answer(route: Any) -> None:
        requests.append(route.request.url)
        status = remaining.pop(0) if len(remaining) > 1 else remaining[0]
        route.fulfill(status=status, headers={"HX-Retarget": "#notices"}, body="<p>News</p>")

    page.route("**/polled/", answer)
    client.go("/rows/")
    for _each in range(3):
        page.clock.run_for(60_100)
        page.wait_for_timeout(200)
    return len(requests)


def test_a_refused_part_is_polled_once(client: Visitor) -> None:
    for status in (403, 404, 410):
        assert count_polls(client, status) == 1, status
        expect(client.page.locator("#stale")).to_be_hidden()


def test_polling_continues_when_the_account_is_selected_again(client: Visitor) -> None:
    assert count_polls(client, 409, 200) > 1
    expect(client.page.get_by_text("News")).to_be_visible()
    expect(client.page.locator("#stale")).to_be_hidden()


def test_a_morphed_part_is_polled_once_and_shown_again(client: Visitor) -> None:
    page = client.page
    etags: list[str] = []

    def answer(route: Any) -> None:
        etags.append(route.request.headers.get("if-none-match", ""))
        status, body = (304, "") if etags[-1] else (200, "news")
        route.fulfill(status=status, headers={"ETag": '"v1"'}, body=body, content_type="text/html")

    def poll() -> None:
        with page.expect_response("**/polled/"):
            page.clock.run_for(15_100)
        page.wait_for_timeout(200)

    page.route("**/polled/", answer)
    client.go("/rows/")
    poll()
    page.evaluate(
        """() => {
          const part = '<div id="polled" data-poll="/polled/" data-poll-seconds="15"></div>';
          Idiomorph.morph(document.getElementById("polled"), part);
          document.dispatchEvent(new CustomEvent("htmx:afterSettle", { detail: {} }));
        }"""
    )
    expect(page.locator("#polled")).to_have_text("")
    poll()
    expect(page.locator("#polled")).to_have_text("news")
    poll()
    assert etags == ["", "", '"v1"']
