"""The documents and lore entries of the demo."""

from io import StringIO

import pytest
from django.core.management import call_command

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from knowledge.lore.evaluate import entries_of, fire
from knowledge.lore.triggers import Rules
from knowledge.models import KnowledgeDocument, KnowledgeQuestion
from knowledge.retrieval.search import Search, search
from tests.makers import settle

pytestmark = pytest.mark.usefixtures("provider")


def demo() -> str:
    out = StringIO()
    call_command("demo", stdout=out)
    return out.getvalue()


def test_demo_is_loaded_once(acme: Account, ada: User) -> None:
    assert "6 documents and 4 lore entries added" in demo()
    assert "0 documents and 0 lore entries added" in demo()
    settle()
    with acting(acme):
        rows = KnowledgeDocument.objects.of(acme)
        assert set(rows.filter(state="failed").values_list("ref", flat=True)) == {"price-list.docx"}
        assert rows.get(ref="rooms/harrowgate.md").version == 2
        assert KnowledgeQuestion.objects.of(acme).count() == 2
        fired = fire(entries_of(acme.pk), ["Tell me of rock tea."], Rules()).included
    assert [each.entry.id and each.reason for each in fired] == ["constant", "key"]
    [best, *_] = search(acme.pk, Search(query="What takes forty seconds with oolong?")).snippets
    assert best.chunks[0].document.ref == "brewing.md"
