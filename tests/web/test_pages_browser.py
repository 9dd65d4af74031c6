"""Pages of the admin, the API docs, topics and knowledge in a browser."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import expect

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, ApiKey, User
from kmapp.ledger.signing import Statement, append_statements, load_signing_key, sign_statement
from knowledge.actions.lore import add_entries
from knowledge.actions.sources import NewSource, ensure_source
from knowledge.models import KnowledgeChunk, KnowledgeQuestion
from memory.actions.topic_growth import member_edges
from tests.fake_provider import FakeProvider
from tests.knowledge.deliveries import deliver
from tests.makers import settle
from tests.memory.test_topic_actions import topic
from tests.web.browser import Visitor
from tests.web.staff import fill, staff

pytestmark = pytest.mark.browser


def test_checkpoint_warning_is_accessible(visitor: Visitor, acme: Account, ada: User) -> None:
    key = load_signing_key(settings.CHECKPOINT_KEY_FILE)
    text = Statement(account=acme.pk, seq=99, commit_hash="ab" * 32, created_at=timezone.now())
    append_statements(settings.CHECKPOINT_FILE, [sign_statement(key, text)])
    visitor.sign_in(ada)
    for path in ("/operations/", "/ledger/"):
        assert visitor.inspect(path) == []
        assert visitor.page.get_by_role("alert").filter(has_text="99").count() == 1


def test_endpoint_can_be_tried_with_a_key(visitor: Visitor, key: tuple[ApiKey, str]) -> None:
    page = visitor.page
    visitor.go("/v1/docs")
    page.get_by_role("button", name="Authorize").first.click()
    page.get_by_label("auth-bearer-value").fill(key[1])
    page.get_by_role("button", name="Apply credentials").last.click()
    page.get_by_role("button", name="Close").last.click()
    page.locator("#operations-memory-memory_commits_get .opblock-summary-control").click()
    page.get_by_role("button", name="Execute").click()
    answer = page.locator(".live-responses-table .response-col_status").nth(1)
    expect(answer).to_contain_text("200")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_docs_are_accessible(visitor: Visitor, theme: str) -> None:
    visitor.prefers(theme=theme, language="en")
    visitor.go("/v1/docs")
    visitor.page.locator(".opblock-post .opblock-summary-control").first.click()
    expect(visitor.page.locator(".opblock-body .responses-table").first).to_be_visible()
    result = Axe().run(visitor.page).response["violations"]
    assert [(rule["id"], node["html"]) for rule in result for node in rule["nodes"]] == []


PAGES = (
    "/admin/",
    "/admin/memory/memoryentry/",
    "/admin/memory/memoryentry/?status__exact=active",
    "/admin/ledger/commit/",
    "/admin/accounts/user/",
    "/admin/accounts/user/add/",
    "/admin/password_change/",
)


@pytest.fixture
def boss(acme: Account) -> User:
    fill(acme)
    return staff(acme, "boss")


@pytest.mark.parametrize(("language", "word"), [("en", "Log out"), ("zh-hans", "注销")])
def test_admin_works_under_policy(visitor: Visitor, boss: User, language: str, word: str) -> None:
    visitor.sign_in(boss)
    visitor.prefers(theme="auto", language=language)
    for path in PAGES:
        visitor.go(path)
        expect(visitor.page.locator("#logout-form")).to_contain_text(word)
    visitor.go("/admin/memory/memoryentry/")
    visitor.page.locator("#result_list tbody th a").first.click()
    expect(visitor.page.locator(".field-content")).to_contain_text("Acme keeps thing")


def test_rows_are_selected_and_pinned(visitor: Visitor, boss: User) -> None:
    visitor.sign_in(boss)
    visitor.go("/admin/memory/memoryentry/")
    visitor.page.locator("#action-toggle").check()
    visitor.page.locator("select[name=action]").select_option("pin")
    visitor.page.locator("button[name=index]").click()
    expect(visitor.page.locator(".messagelist")).to_contain_text("2 rows were changed.")


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


LONG = "averylongwordthatnobodycanbreak" * 8
GUIDE = f"# Oolong {LONG}\n\nOolong is partly oxidised.\n\n" + "\n\n".join(
    f"## Kind {i}\n\n" + f"Kind {i} grows on hill {i}. <script>{LONG}</script> " * 40
    for i in range(3)
)


@pytest.fixture
def paths(acme: Account, provider: FakeProvider) -> list[str]:
    """Every knowledge page, with data too long for it."""
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
    return [
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
    ]


def test_question_is_saved_and_compared(visitor: Visitor, ada: User, paths: list[str]) -> None:
    visitor.sign_in(ada)
    visitor.go("/knowledge/comparison/?left=v1&right=v3")
    page = visitor.page
    page.fill("#id_text", "Which tea is oxidised?")
    page.keyboard.press("Enter")
    expect(page.locator("section h2").first).to_have_text("Which tea is oxidised?")
    expect(page.locator("section").first).to_contain_text("Oolong")
    assert "right=v3" in page.url
    assert (visitor.violations, visitor.mistakes) == ([], [])


@pytest.mark.timeout(900)
def test_knowledge_pages_are_accessible(visitor: Visitor, ada: User, paths: list[str]) -> None:
    visitor.sign_in(ada)
    errors = [one for path in paths for one in visitor.inspect(path)]
    assert errors == []
    assert (visitor.violations, visitor.mistakes) == ([], [])
