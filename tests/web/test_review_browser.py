"""Reviewing by keyboard in a browser."""

import pytest
from playwright.sync_api import Page, expect

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from kmapp.ledger.models import Commit
from memory.models import MemoryEntry, MemoryVersion
from tests import makers
from tests.web.browser import Visitor
from tests.web.proposals import propose

pytestmark = pytest.mark.browser


@pytest.fixture
def reviewer(visitor: Visitor, alice: User) -> Visitor:
    visitor.sign_in(alice)
    return visitor


def opened(page: Page, text: str) -> None:
    expect(page.locator(".proposal-text")).to_have_text(text)
    page.wait_for_load_state()  # keys are heard once the scripts are there


@pytest.mark.parametrize("number", [20, pytest.param(300, marks=pytest.mark.long)])
def test_queue_is_decided_by_keyboard(reviewer: Visitor, acme: Account, number: int) -> None:
    texts = [f"Fact number {n} about warehouses." for n in range(number)]
    propose(acme, *texts)
    commits = makers.count(Commit, acme)
    page = reviewer.page
    reviewer.go("/review/")
    for turn, text in enumerate(texts):
        opened(page, text)
        if turn % 10 == 4:
            page.keyboard.press("r")
            expect(page.locator("#reason")).to_be_focused()
            page.keyboard.type(f"not {turn}")
            page.keyboard.press("Enter")
        else:
            page.keyboard.press("a")
    expect(page.get_by_text("The review queue is empty")).to_be_visible()
    with acting(acme):
        created = MemoryVersion.objects.filter(version=2)
        assert created.filter(event="REJECT", reason__startswith="not ").count() == number // 10
        assert created.filter(event="APPROVE").count() == number - number // 10
        assert Commit.objects.count() == commits + number
        assert not MemoryEntry.objects.awaiting_review().exists()


def test_proposals_are_merged_and_restored_by_keyboard(reviewer: Visitor, acme: Account) -> None:
    existing = "Maren Holt prefers e-mail to phone calls."
    propose(acme, existing)
    page = reviewer.page
    reviewer.go("/review/")
    page.keyboard.press("a")
    expect(page.get_by_text("The review queue is empty")).to_be_visible()
    new = "Maren Holt would rather get an e-mail than a phone call."
    propose(acme, new)
    makers.settle()
    reviewer.go("/review/")
    expect(page.locator(".proposal .badge-state", has_text="Near-duplicate")).to_be_visible()
    page.keyboard.press("m")
    expect(page.locator("#preview ins").first).to_be_visible()
    page.keyboard.press("1")
    expect(page.locator("#preview ins")).to_have_count(0)
    page.get_by_role("button", name="Merge").press("Enter")
    expect(page.get_by_text("Merged.")).to_be_visible()
    assert makers.get(MemoryEntry, acme, content=new).status == "superseded"
    page.keyboard.press("u")
    opened(page, new)
    assert makers.get(MemoryEntry, acme, content=existing).status == "active"


def test_locked_proposal_can_be_taken_over(reviewer: Visitor, acme: Account) -> None:
    first, _second = propose(acme, "First words.", "Second words.")
    reviewer.go("/review/")
    opened(reviewer.page, "First words.")
    bob = makers.member(acme, "bob", role="editor")
    reviewer.sign_in(bob)
    reviewer.go(f"/review/?at={first.pk}")
    page = reviewer.page
    opened(page, "First words.")
    expect(page.get_by_text("Alice is reviewing this proposal.")).to_be_visible()
    page.keyboard.press("a")  # nothing is there to be pressed
    page.keyboard.press("t")
    expect(page.locator("#do-approve")).to_be_visible()
    page.keyboard.press("a")
    opened(page, "Second words.")
    assert reviewer.inspect("/review/") == []


def test_bulk_and_merge_pages_are_accessible(reviewer: Visitor, acme: Account) -> None:
    one, _other = propose(acme, "Dogs may come in.", "Dogs may not come in.\u200b")
    makers.settle()
    errors = []
    for path in (
        f"/review/?at={one.pk}",
        "/review/bulk/",
        f"/review/{one.pk}/merge/",
        f"/review/{one.pk}/sources/",
    ):
        errors += reviewer.inspect(path)
    assert errors == []


def test_merge_page_follows_a_dark_system(reviewer: Visitor, acme: Account) -> None:
    one, _other = propose(acme, "Dogs may come in.", "Dogs may not come in.")
    makers.settle()
    reviewer.page.emulate_media(color_scheme="dark")
    reviewer.go(f"/review/{one.pk}/merge/")
    expect(reviewer.page.locator("td .choice").first).to_be_visible()
    assert reviewer.barriers() == []


def test_bulk_rejection_and_undo_by_keyboard(reviewer: Visitor, acme: Account) -> None:
    first, second, third = "First words.", "Second words.", "Third words."
    propose(acme, first, second, third)
    page = reviewer.page
    reviewer.go("/review/")
    opened(page, first)
    page.keyboard.press("x")
    page.keyboard.press("j")
    opened(page, second)
    page.keyboard.press("x")
    expect(page.locator("input[name=pick]:checked")).to_have_count(2)
    page.keyboard.press("b")
    expect(page.get_by_text("2 selected proposals")).to_be_visible()
    page.wait_for_load_state("networkidle")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("Spam.")
    page.keyboard.press("Enter")  # decides nothing
    dialog.get_by_role("button", name="Reject").press("Enter")
    expect(page.get_by_text("2 rejected.")).to_be_visible()
    opened(page, third)
    page.keyboard.press("u")
    expect(page.get_by_text("2 proposals pending again.")).to_be_visible()
    expect(page.locator("[data-count='memory:review']").first).to_have_text("3")


def test_notice_covers_no_decision_on_a_phone(reviewer: Visitor, acme: Account) -> None:
    propose(acme, "First words.", "Second words.")
    page = reviewer.page
    page.set_viewport_size({"width": 390, "height": 800})
    reviewer.go("/review/")
    page.locator("#do-approve").click()
    opened(page, "Second words.")
    notice = page.locator(".notice", has_text="Undo").bounding_box()
    decisions = page.locator(".decide").bounding_box()
    assert notice
    assert decisions
    assert notice["y"] + notice["height"] <= decisions["y"]


def test_key_works_while_a_dialog_closes(reviewer: Visitor, acme: Account) -> None:
    """The field keeps the focus until the next frame."""
    first, second = "First words.", "Second words."
    propose(acme, first, second)
    page = reviewer.page
    reviewer.go("/review/")
    opened(page, first)
    page.keyboard.press("r")
    expect(page.locator("#reason")).to_be_focused()
    page.evaluate(
        """() => {
          document.getElementById("dialog").close();
          const said = {key: "a", bubbles: true, cancelable: true};
          document.activeElement.dispatchEvent(new KeyboardEvent("keydown", said));
        }"""
    )
    opened(page, second)
