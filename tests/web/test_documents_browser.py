"""The editor of documents in a browser: preview while typing, drafts, a pasted image, Enter."""

import pytest
from playwright.sync_api import expect

from kmapp.accounts.models import Account, User
from knowledge.models import KnowledgeDocument
from tests import makers
from tests.web.browser import Visitor

pytestmark = pytest.mark.browser
PASTE = """
async (area) => {
  const canvas = new OffscreenCanvas(4, 4);
  canvas.getContext("2d").fillRect(0, 0, 4, 4);
  const data = new DataTransfer();
  data.items.add(new File([await canvas.convertToBlob()], "cup.png", {type: "image/png"}));
  area.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, cancelable: true}));
}
"""


def test_a_draft_is_previewed_restored_and_saved(
    visitor: Visitor, ada: User, acme: Account
) -> None:
    [memory] = makers.write(acme, "The kettle hums.", user_id="ann")
    visitor.sign_in(ada)
    visitor.go("/knowledge/write/")
    page = visitor.page
    page.fill("[name=title]", "White tea")
    page.locator("[name=text]").press_sequentially("Dried in the **sun**.")
    expect(page.locator("#preview strong")).to_have_text("sun")
    page.reload()
    expect(page.locator("[name=text]")).to_have_value("Dried in the **sun**.")
    page.locator("[name=text]").evaluate(PASTE)
    expect(page.locator("#preview img[alt='cup.png']")).to_be_visible()
    page.get_by_text("Link to a memory", exact=True).click()
    page.locator("#memory-words").press_sequentially("kettle")
    page.get_by_role("button", name="Insert link").click()
    expect(page.locator(f"#preview a[href*='{memory.pk}']")).to_be_visible()
    page.locator("[name=title]").press("Enter")
    expect(page.locator("h1")).to_have_text("White tea")
    expect(page.locator(".markdown img")).to_be_visible()
    assert makers.get(KnowledgeDocument, acme).ref == "white-tea.md"
    assert (visitor.violations, visitor.mistakes) == ([], [])
