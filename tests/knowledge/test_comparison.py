"""Comparison of two search variants on saved questions."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.search.variants import VARIANTS
from knowledge.actions.reindex import reindex
from knowledge.actions.sources import change_source
from knowledge.models import KnowledgeQuestion, KnowledgeSource
from knowledge.retrieval.variant_comparison import compare_variants
from tests.knowledge.deliveries import deliver
from tests.makers import settle

pytestmark = pytest.mark.usefixtures("provider")
PAGE = "/knowledge/comparison/"
PARTS = [f"## Part {i}\n\n" + f"The tea of hill {i} is picked by hand. " * 12 for i in range(6)]
FILES = {"long.md": "# Hills\n\n" + "\n\n".join(PARTS), "short.md": "# Cups\n\nA tea cup."}


def index_both_versions(account: Account) -> None:
    with acting(account):
        source = KnowledgeSource.objects.of(account).get()
        change_source(source, SYSTEM, {"index_versions": ["1", "2"]})
    list(reindex(source))
    settle()


def test_documents_found_by_one_variant_only(committed: str, acme: Account) -> None:
    deliver(acme, FILES)
    settle()
    found = compare_variants(acme.pk, "tea of hill 3", VARIANTS["v1"], VARIANTS["v2"])
    assert [move.right for move in found.moves] == [None, None]
    assert found.moved == 2
    index_both_versions(acme)
    again = compare_variants(acme.pk, "tea of hill 3", VARIANTS["v1"], VARIANTS["v2"])
    assert all(move.left and move.right for move in again.moves)
    assert {place.chunk.index_version for place in again.right.places.values()} == {"2"}
    same = compare_variants(acme.pk, "tea of hill 3", VARIANTS["v1"], VARIANTS["v1"])
    assert (same.moved, {move.rose for move in same.moves}) == (0, {0})


def test_questions_are_saved_run_and_deleted(reviewer: Client, acme: Account) -> None:
    deliver(acme, FILES)
    settle()
    assert "No questions yet" in reviewer.get(PAGE).content.decode()
    here = f"{PAGE}?left=v1&right=v3"
    for _ in range(2):  # a repeated question is saved once
        saved = reviewer.post(f"{PAGE}ask/", {"text": "<b>Which hill?</b>", "next": here})
        assert saved.headers["Location"] == here
    shown = reviewer.get(here).content.decode()
    assert "&lt;b&gt;Which hill?" in shown
    assert "long.md" in shown
    assert "manage.py knowledge index" in reviewer.get(PAGE).content.decode()
    assert reviewer.get(PAGE, {"left": "v9"}).status_code == 400
    assert reviewer.post(f"{PAGE}ask/", {"text": " "}).status_code == 400
    with acting(acme):
        [question] = KnowledgeQuestion.objects.of(acme)
    assert reviewer.post(f"{PAGE}{question.pk}/forget/").status_code == 302
    assert reviewer.post(f"{PAGE}{question.pk}/forget/").status_code == 404


def test_page_shows_ten_questions(
    reviewer: Client, acme: Account, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    deliver(acme, FILES)
    settle()
    for i in range(12):
        reviewer.post(f"{PAGE}ask/", {"text": f"Which hill is number {i}?"})
    reviewer.get(PAGE)
    with django_assert_max_num_queries(20 + 10 * 2 * 12):
        shown = reviewer.get(PAGE)
    assert shown.content.decode().count("<section") == 10
