"""Search for passages on the page of documents."""

import re
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries as MaxQueries

from kmapp.accounts.models import Account
from knowledge.models import KnowledgeDocument
from tests import makers
from tests.fake_provider import FakeProvider
from tests.knowledge.builders import deliver
from tests.makers import settle
from tests.web.pages import HTMX, page

pytestmark = pytest.mark.usefixtures("provider")

BREWING = "# Brewing\n\n## Oolong\n\nOolong is brewed at 95 degrees for four minutes."
CHINESE = "# 泡茶\n\n## 绿茶\n\n绿茶用八十度的水冲泡三分钟。"


def search(client: Client, query: str, **more: Any) -> str:
    return page(client.get("/knowledge/", {"q": query, **more}))


def test_passages_are_highlighted_and_open_the_document(
    reviewer: Client, acme: Account, rival: Account, max_queries: MaxQueries
) -> None:
    filler = "\n\n".join(f"## Part {i}\n\n" + "Porcelain cups are warmed. " * 90 for i in range(25))
    deliver(acme, {"tea/brewing.md": f"# Guide\n\n{filler}\n\n{BREWING}", "zh/茶.md": CHINESE})
    deliver(rival, {"theirs.md": BREWING})
    settle()
    with max_queries(32):  # four transactions of three statements, and those of the retrieval
        page_text = search(reviewer, "How hot for oolong?")
    assert "<mark>Oolong</mark> is brewed at 95 degrees" in page_text
    assert "docs" in page_text
    assert "theirs.md" not in page_text
    url = re.search(r'href="(/knowledge/documents/[^"]*chunk=[^"]*)"', page_text)
    assert url
    with max_queries(16):
        opened = page(reviewer.get(url[1].replace("&amp;", "&").partition("#")[0]))
    assert 'class="is-cited" id="passage"' in opened  # on a later page of chunks
    assert "<mark>绿茶</mark>" in search(reviewer, "绿茶")
    gone = reviewer.get(url[1].partition("?")[0], {"chunk": str(acme.pk)})
    assert "no longer contains this passage" in page(gone)


def test_filters_narrow_the_search(reviewer: Client, acme: Account) -> None:
    deliver(acme, {"tea/a.md": BREWING}, name="wiki", kind="repo_docs")
    deliver(acme, {"old/b.md": BREWING}, name="mails")
    settle()
    both = search(reviewer, "oolong")
    assert ("tea/a.md" in both, "old/b.md" in both) == (True, True)
    source = makers.get(KnowledgeDocument, acme, ref="old/b.md").source_id
    for narrowed, expected in (
        ({"folder": "tea/"}, "tea/a.md"),
        ({"trust": "trusted"}, "tea/a.md"),
        ({"kind": "file_set"}, "old/b.md"),
        ({"source": str(source)}, "old/b.md"),
    ):
        page_text = search(reviewer, "oolong", **narrowed)
        assert re.findall(r"(?:tea/a|old/b)\.md", page_text) == [expected], narrowed
    assert "Remove a filter" in search(reviewer, "oolong", folder="nowhere")
    refused = reviewer.get("/knowledge/", {"q": "oolong", "trust": "none"})
    assert "Trust" in page(refused, 422)
    assert "at most 800" in page(reviewer.get("/knowledge/", {"q": "茶" * 801}), 422)
    list_page = page(reviewer.get("/knowledge/", {"trust": "trusted"}, headers=HTMX))
    assert ("wiki" in list_page, "mails" in list_page) == (True, False)


def test_passages_are_paged_and_degrade_to_words(
    reviewer: Client, acme: Account, provider: FakeProvider
) -> None:
    deliver(acme, {f"{i}.md": f"# Harvest {i}\n\nThe oolong harvest {i}." for i in range(12)})
    settle()
    first = search(reviewer, "oolong harvest")
    assert "1 to 10 of 12" in first
    assert "11 to 12 of 12" in search(reviewer, "oolong harvest", page=2)
    for mode in ("nan", "error"):
        provider.behaviour.mode = mode
        assert "only passages with these words" in search(reviewer, f"oolong harvest {mode}")
    assert "Nothing matches" in search(reviewer, "zebra")
