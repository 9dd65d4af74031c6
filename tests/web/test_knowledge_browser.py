"""The pages of knowledge and of lore in a browser: open to everybody, narrow and wide."""

import pytest
from playwright.sync_api import expect

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, User
from knowledge.actions.lore import add_entries
from knowledge.actions.sources import NewSource, ensure_source
from knowledge.models import KnowledgeChunk, KnowledgeQuestion
from tests.knowledge.made import deliver
from tests.makers import settle
from tests.web.browser import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("provider")]

LONG = "averylongwordthatnobodycanbreak" * 8
GUIDE = f"# Oolong {LONG}\n\nOolong is partly oxidised.\n\n" + "\n\n".join(
    f"## Kind {i}\n\n" + f"Kind {i} grows on hill {i}. <script>{LONG}</script> " * 40
    for i in range(3)
)


@pytest.fixture
def paths(acme: Account) -> list[str]:
    """Every page of knowledge, with data that do not fit."""
    taken = deliver(
        acme,
        {f"{LONG}.md": GUIDE, "茶.md": "# 普洱\n\n用沸水冲泡。", "b.docx": b"broken"},
        name=LONG[:150],
    )
    settle()
    with acting(acme):
        source = taken.documents[0].source_id
        document, _, broken = (each.pk for each in taken.documents)
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
    wrong = [one for path in paths for one in visitor.inspect(path)]
    assert wrong == []
    assert (visitor.violations, visitor.mistakes) == ([], [])
