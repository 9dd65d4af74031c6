"""Topics in a browser: fit for everybody, merged by keyboard, and parted with one key."""

import pytest
from playwright.sync_api import expect

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from memory.actions.topic_growth import member_edges
from tests.fake_provider import FakeProvider
from tests.makers import settle
from tests.memory.test_topic_actions import topic
from tests.web.browser import Visitor

pytestmark = pytest.mark.browser


def test_topics_are_merged_and_restored_by_keyboard(
    visitor: Visitor, acme: Account, ada: User, provider: FakeProvider
) -> None:
    tea, oolong = topic(acme, "Tea", 4), topic(acme, "Oolong", 3)
    settle()
    visitor.sign_in(ada)
    address = f"/topics/{oolong.pk}/"
    assert [*visitor.inspect("/topics/"), *visitor.inspect(address)] == []
    visitor.go(address)
    page = visitor.page
    expect(page.locator(".map circle.own")).to_have_count(4)  # its memories, and the key
    page.select_option("#into", str(tea.pk))
    page.locator("#into").press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#members [data-row]")).to_have_count(7)
    page.locator("h1").click()
    page.keyboard.press("u")
    expect(page.locator("#members [data-row]")).to_have_count(4)
    with acting(acme):
        assert member_edges(acme.pk, oolong.pk).count() == 3
