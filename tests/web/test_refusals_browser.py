"""Lab, bulk actions, erasure and refused pages in a browser."""

import pytest
from playwright.sync_api import expect

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from memory.models import ErasedEntry, MemoryEntry, MemoryRating
from tests import makers
from tests.fake_provider import FakeProvider
from tests.web.browser import Visitor
from tests.web.proposals import propose

pytestmark = pytest.mark.browser


@pytest.fixture
def reviewer(visitor: Visitor, alice: User) -> Visitor:
    visitor.sign_in(alice)
    return visitor


def test_lab_result_is_rated(reviewer: Visitor, acme: Account, provider: FakeProvider) -> None:
    makers.write(acme, "The tea room opens at nine.", user_id="u")
    makers.settle()
    page = reviewer.page
    reviewer.go("/lab/")
    page.get_by_label("User").fill("u")
    page.get_by_label("Query").fill("when does the tea room open")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="1 memory returned")).to_be_visible()
    page.get_by_role("button", name="outdated").click()
    expect(page.get_by_role("button", name="outdated")).to_have_attribute("aria-pressed", "true")
    assert makers.get(MemoryRating, acme).outcome == "negative"


def test_changed_count_decides_nothing(reviewer: Visitor, acme: Account) -> None:
    propose(acme, "First words.", "Second words.")
    page = reviewer.page
    reviewer.go("/review/")
    page.keyboard.press("b")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("all 2 pending proposals")).to_be_visible()
    propose(acme, "Third words.")
    page.wait_for_load_state("networkidle")
    dialog.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("The proposals changed after you opened this page.")).to_be_visible()
    expect(page.get_by_text("all 3 pending proposals")).to_be_visible()
    with acting(acme):
        assert MemoryEntry.objects.awaiting_review().count() == 3


def test_reviewer_cannot_open_other_pages(reviewer: Visitor, acme: Account, rival: Account) -> None:
    [foreign] = propose(rival, "Rival words.")
    [own] = propose(acme, "Our words.")
    page = reviewer.page
    for path in (f"/memory/{foreign.pk}/", f"/review/?at={foreign.pk}"):
        answer = page.goto(reviewer.base + path)
        assert answer
        assert answer.status == 404
        expect(page.get_by_text("Rival words.")).to_have_count(0)
    for path in ("/keys/", f"/memory/erase/?id={own.pk}"):
        answer = page.goto(reviewer.base + path)
        assert answer
        assert answer.status == 403
        expect(page.get_by_role("heading", level=1)).to_be_visible()
    reviewer.go(f"/memory/{own.pk}/")
    expect(page.get_by_role("link", name="Erase")).to_have_count(0)


def test_erasure_needs_the_typed_count(visitor: Visitor, ada: User, acme: Account) -> None:
    [entry] = propose(acme, "Words to erase.")
    visitor.sign_in(ada)
    page = visitor.page
    visitor.go(f"/memory/erase/?id={entry.pk}")
    expect(page.get_by_text("What remains verifiable")).to_be_visible()
    page.locator("#typed").fill("yes")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Nothing was erased.")).to_be_visible()
    page.locator("#typed").fill("erase 1")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ledger/**")
    assert makers.rows(ErasedEntry, acme, pk=entry.pk)
    answer = page.goto(f"{visitor.base}/memory/{entry.pk}/")
    assert answer
    assert answer.status == 410
    expect(page.get_by_text("Words to erase.")).to_have_count(0)
