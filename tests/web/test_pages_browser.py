"""Pages of the admin, the API docs, topics, knowledge and others in a browser."""

import pytest
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import expect

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, ApiKey, User
from kmapp.ledger.signing import Statement, append_statements, load_signing_key, sign_statement
from kmapp.web.statistics.daily import record_days
from knowledge.actions.lore import add_entries
from knowledge.actions.sources import NewSource, ensure_source
from knowledge.models import KnowledgeChunk, KnowledgeDocument, KnowledgeQuestion
from memory.actions.topic_growth import member_edges
from memory.models import MemoryRating
from tests import makers
from tests.fake_provider import FakeProvider
from tests.knowledge.builders import deliver
from tests.makers import settle
from tests.memory.test_topic_actions import topic
from tests.web.browser import Visitor
from tests.web.proposals import propose
from tests.web.staff import fill, staff

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("module_commits")]


def test_checkpoint_warning_is_accessible(visitor: Visitor, acme: Account, ada: User) -> None:
    key = load_signing_key(settings.CHECKPOINT_KEY_FILE)
    text = Statement(account=acme.pk, seq=99, commit_hash="ab" * 32, created_at=timezone.now())
    append_statements(settings.CHECKPOINT_FILE, [sign_statement(key, text)])
    visitor.sign_in(ada)
    for path in ("/operations/", "/ledger/"):
        assert visitor.inspect(path) == []
        assert visitor.page.get_by_role("alert").filter(has_text="99").count() == 1


# Switches to the light theme as the script of the page does.
LIGHT = """
async () => {
  document.documentElement.dataset.theme = "light";
  document.documentElement.classList.remove("dark-mode");
  const changes = document.getAnimations().filter((each) => each instanceof CSSTransition);
  await Promise.allSettled(changes.map((each) => each.finished));
}
"""


def test_docs_are_accessible_and_an_endpoint_can_be_tried(
    visitor: Visitor, key: tuple[ApiKey, str]
) -> None:
    page = visitor.page
    visitor.prefers(theme="dark", language="en")
    visitor.go("/v1/docs")
    page.locator(".opblock-post .opblock-summary-control").first.click()
    expect(page.locator(".opblock-body .responses-table").first).to_be_visible()
    expect(page.locator("html.dark-mode")).to_have_count(1)
    errors = visitor.find_accessibility_violations()
    page.evaluate(LIGHT)
    assert [*errors, *visitor.find_accessibility_violations()] == []
    page.get_by_role("button", name="Authorize").first.click()
    page.get_by_label("auth-bearer-value").fill(key[1])
    page.get_by_role("button", name="Apply credentials").last.click()
    page.get_by_role("button", name="Close").last.click()
    page.locator("#operations-memory-memory_commits_get .opblock-summary-control").click()
    operation = page.locator("#operations-memory-memory_commits_get")
    operation.get_by_role("button", name="Execute").click()
    answer = operation.locator(".live-responses-table .response-col_status").nth(1)
    expect(answer).to_contain_text("200")


def test_admin_works_under_policy(visitor: Visitor, acme: Account) -> None:
    fill(acme)
    visitor.sign_in(staff(acme, "boss"))
    page = visitor.page
    for language, word in (("zh-hans", "注销"), ("en", "Log out")):
        visitor.prefers(theme="auto", language=language)
        for path in (
            *("", "memory/memoryentry/", "memory/memoryentry/?status__exact=active"),
            *("ledger/commit/", "accounts/user/", "accounts/user/add/", "password_change/"),
        ):
            visitor.go(f"/admin/{path}")
            expect(page.locator("#logout-form")).to_contain_text(word)
    visitor.go("/admin/memory/memoryentry/")
    page.locator("#result_list tbody th a").first.click()
    expect(page.locator(".field-content")).to_contain_text("Acme keeps thing")
    visitor.go("/admin/memory/memoryentry/")
    page.locator("#action-toggle").check()
    page.locator("select[name=action]").select_option("pin")
    page.locator("button[name=index]").click()
    expect(page.locator(".messagelist")).to_contain_text("2 rows were changed.")


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
    expect(page.locator(".map circle.own")).to_have_count(4)  # its three memories and the legend
    page.select_option("#into", str(tea.pk))
    page.locator("#into").press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#members [data-row]")).to_have_count(7)
    page.locator("h1").click()
    page.keyboard.press("u")
    expect(page.locator("#members [data-row]")).to_have_count(4)
    with acting(acme):
        assert member_edges(acme.pk, oolong.pk).count() == 3


LONG = "averylongwordthatnobodycanbreak" * 8
GUIDE = f"# Oolong {LONG}\n\nOolong is partly oxidised.\n\n" + "\n\n".join(
    f"## Kind {i}\n\n" + f"Kind {i} grows on hill {i}. <script>{LONG}</script> " * 40
    for i in range(3)
)


@pytest.mark.timeout(900)
def test_knowledge_pages_are_accessible_and_a_question_is_compared(
    visitor: Visitor, acme: Account, ada: User, provider: FakeProvider
) -> None:
    """Inspect every knowledge page with texts and words that are too long for it."""
    delivery = deliver(
        acme,
        {f"{LONG}.md": GUIDE, "茶.md": "# 普洱\n\n用沸水冲泡。", "b.docx": b"broken"},
        name=LONG[:150],
    )
    settle()
    with acting(acme):
        source = delivery.documents[0].source_id
        document, _, broken = (each.pk for each in delivery.documents)
        chunk = KnowledgeChunk.objects.of(acme).filter(document=document, chunk_index=1).get()
        KnowledgeQuestion.objects.create(account=acme, text=f"Which hill? {LONG}", created_by="x")
        book = ensure_source(acme.pk, SYSTEM, NewSource(name=LONG[:140], kind="lorebook"))
        entry = {"content": f"Dragons. {LONG}", "keys": ["dragon", LONG], "name": LONG[:150]}
        [lore] = add_entries(book, SYSTEM, [entry])
    visitor.sign_in(ada)
    page = visitor.page
    errors = []
    for path in (
        *("/knowledge/", "/knowledge/upload/", "/knowledge/failures/", "/knowledge/comparison/"),
        *("/knowledge/comparison/?left=v1&right=v3", f"/knowledge/sources/{source}/"),
        *(f"/knowledge/sources/{source}/?state=failed", f"/knowledge/sources/{source}/erase/"),
        *(f"/knowledge/documents/{document}/", f"/knowledge/documents/{broken}/"),
        *(f"/knowledge/documents/{document}/erase/", f"/knowledge/chunks/{chunk.pk}/"),
        *(f"/knowledge/documents/{document}/?view=chunks", f"/knowledge/?q={LONG}+hill"),
        *(f"/knowledge/documents/{document}/edit/", f"/knowledge/documents/{document}/versions/"),
        "/knowledge/write/",
        *("/lore/", "/lore/new/", "/lore/bench/", f"/lore/{book.pk}/", f"/lore/{book.pk}/new/"),
        *(f"/lore/{book.pk}/erase/", f"/lore/entries/{lore.pk}/"),
    ):
        errors += visitor.inspect(path)
    assert errors == []
    visitor.prefers(theme="light", language="en")
    visitor.go("/knowledge/comparison/?left=v1&right=v3")
    page.fill("#id_text", "Which tea is oxidised?")
    page.keyboard.press("Enter")
    expect(page.locator("section h2").first).to_have_text("Which tea is oxidised?")
    expect(page.locator("section").first).to_contain_text("Oolong")
    assert "right=v3" in page.url


PASTE = """
async (area, texts) => {
  const canvas = new OffscreenCanvas(4, 4);
  canvas.getContext("2d").fillRect(0, 0, 4, 4);
  const data = new DataTransfer();
  for (const [type, text] of Object.entries(texts)) data.setData(type, text);
  data.items.add(new File([await canvas.convertToBlob()], "cup.png", {type: "image/png"}));
  const paste = new ClipboardEvent("paste", {clipboardData: data, cancelable: true});
  return area.dispatchEvent(paste);
}
"""


def test_draft_of_a_document_is_previewed_restored_and_saved(
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
    cells = {"text/plain": "12", "text/html": "<table><tr><td>12</td></tr></table>"}
    assert page.locator("[name=text]").evaluate(PASTE, cells), "the browser pastes the text"
    page.locator("[name=text]").evaluate(PASTE, {})
    expect(page.locator("#preview img[alt='cup.png']")).to_be_visible()
    page.get_by_text("Link to a memory", exact=True).click()
    page.locator("#memory-words").press_sequentially("kettle")
    page.get_by_role("button", name="Insert link").click()
    expect(page.locator(f"#preview a[href*='{memory.pk}']")).to_be_visible()
    page.locator("[name=title]").press("Enter")
    expect(page.locator("h1")).to_have_text("White tea")
    expect(page.locator(".markdown img")).to_be_visible()
    assert makers.get(KnowledgeDocument, acme).ref == "white-tea.md"


def test_nothing_is_typed_into_a_document_while_it_is_sent(visitor: Visitor, ada: User) -> None:
    visitor.sign_in(ada)
    visitor.go("/knowledge/write/")
    page, text = visitor.page, visitor.page.locator("[name=text]")
    page.evaluate("window.addEventListener('submit', (event) => event.preventDefault())")  # stay
    page.fill("[name=title]", "White tea")
    text.fill("Dried in the sun.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(text).not_to_be_editable()
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    expect(text).to_be_editable()


def test_proposal_is_announced_and_choices_are_saved(
    visitor: Visitor, acme: Account, ada: User
) -> None:
    propose(acme, "Tea is at five.")
    settle()
    visitor.sign_in(ada)
    visitor.go("/")
    page = visitor.page
    errors = []
    bell = page.locator(".bell")
    expect(bell).to_contain_text("1")
    bell.click()
    page.get_by_role("link", name="1 proposal needs review").click()
    expect(page.locator("h1")).to_contain_text("Review")
    for path in (
        *("/", "/notifications/", "/notifications/?state=resolved", "/webhooks/new/"),
        *("/unsubscribe/x/", "/notifications/settings/"),
    ):
        errors += visitor.inspect(path)
    assert errors == []
    visitor.prefers(theme="light", language="en")
    visitor.go("/notifications/settings/")
    page.locator("select[name^=email]").first.select_option("never")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("select[name^=email]").first).to_have_value("never")


def test_lab_result_is_rated(
    reviewer_visitor: Visitor, acme: Account, provider: FakeProvider
) -> None:
    makers.write(acme, "The tea room opens at nine.", user_id="u")
    settle()
    page = reviewer_visitor.page
    reviewer_visitor.go("/lab/")
    page.get_by_label("User").fill("u")
    page.get_by_label("Query").fill("when does the tea room open")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="1 memory returned")).to_be_visible()
    page.get_by_role("button", name="outdated").click()
    expect(page.get_by_role("button", name="outdated")).to_have_attribute("aria-pressed", "true")
    assert makers.get(MemoryRating, acme).outcome == "negative"


def test_chart_has_a_tooltip_and_a_legend_that_hides_series(
    reviewer_visitor: Visitor, acme: Account
) -> None:
    page = reviewer_visitor.page
    makers.write(acme, "The tea room opens at nine.", user_id="mira")
    record_days(acme.pk)
    reviewer_visitor.go("/trends/")
    figure = page.locator("#chart-memories")
    figure.locator("svg").focus()
    page.keyboard.press("ArrowLeft")
    assert "added 1" in figure.locator(".chart-tip").inner_text()
    rectangles = figure.locator(".chart-marks rect")
    for number in (1, 0):
        assert rectangles.count() == number
        figure.get_by_role("button", name="added").click()
    assert rectangles.count() == 1
    figure.get_by_text("Show as a table").click()
    assert figure.get_by_role("cell", name="1", exact=True).count() == 1
