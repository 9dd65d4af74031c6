"""The list and the page of a memory in a browser."""

import pytest
from playwright.sync_api import expect

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from memory.actions.review import edit
from memory.models import MemoryEntry
from memory.models.entry_input import NewEntry
from tests import makers
from tests.web.browser import Visitor

pytestmark = pytest.mark.browser


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
