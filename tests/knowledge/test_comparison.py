"""Questions asked of two variants: which documents move, and how much it costs to see it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, User
from kmapp.search.variants import VARIANTS
from knowledge.actions.reindex import reindex
from knowledge.actions.sources import change_source
from knowledge.models import KnowledgeQuestion, KnowledgeSource
from knowledge.retrieval.variant_comparison import compare_variants
from tests.knowledge.made import deliver
from tests.makers import settle

pytestmark = pytest.mark.usefixtures("provider")
PAGE = "/knowledge/comparison/"
PARTS = [f"## Part {i}\n\n" + f"The tea of hill {i} is picked by hand. " * 12 for i in range(6)]
FILES = {"long.md": "# Hills\n\n" + "\n\n".join(PARTS), "short.md": "# Cups\n\nA tea cup."}


@pytest.fixture
def at_desk(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def cut_both_ways(account: Account) -> None:
    with acting(account):
        source = KnowledgeSource.objects.of(account).get()
        change_source(source, SYSTEM, {"index_versions": ["1", "2"]})
    list(reindex(source))
    settle()


def test_documents_that_only_one_variant_finds_are_new_or_gone(
    committed: str, acme: Account
) -> None:
    deliver(acme, FILES)
    settle()
    found = compare_variants(acme.pk, "tea of hill 3", VARIANTS["v1"], VARIANTS["v2"])
    assert [move.right for move in found.moves] == [None, None]
    assert found.moved == 2
    cut_both_ways(acme)
    again = compare_variants(acme.pk, "tea of hill 3", VARIANTS["v1"], VARIANTS["v2"])
    assert all(move.left and move.right for move in again.moves)
    assert {place.chunk.index_version for place in again.right.places.values()} == {"2"}
    same = compare_variants(acme.pk, "tea of hill 3", VARIANTS["v1"], VARIANTS["v1"])
    assert (same.moved, {move.rose for move in same.moves}) == (0, {0})


def test_questions_are_kept_asked_and_deleted(at_desk: Client, acme: Account) -> None:
    deliver(acme, FILES)
    settle()
    assert "No questions yet" in at_desk.get(PAGE).content.decode()
    here = f"{PAGE}?left=v1&right=v3"
    for _ in range(2):  # once is enough
        kept = at_desk.post(f"{PAGE}ask/", {"text": "<b>Which hill?</b>", "next": here})
        assert kept.headers["Location"] == here
    shown = at_desk.get(here).content.decode()
    assert "&lt;b&gt;Which hill?" in shown
    assert "long.md" in shown
    assert "manage.py knowledge index" in at_desk.get(PAGE).content.decode()
    assert at_desk.get(PAGE, {"left": "v9"}).status_code == 400
    assert at_desk.post(f"{PAGE}ask/", {"text": " "}).status_code == 400
    with acting(acme):
        [question] = KnowledgeQuestion.objects.of(acme)
    assert at_desk.post(f"{PAGE}{question.pk}/forget/").status_code == 302
    assert at_desk.post(f"{PAGE}{question.pk}/forget/").status_code == 404


def test_ten_questions_a_page(
    at_desk: Client, acme: Account, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    deliver(acme, FILES)
    settle()
    for i in range(12):
        at_desk.post(f"{PAGE}ask/", {"text": f"Which hill is number {i}?"})
    at_desk.get(PAGE)
    with django_assert_max_num_queries(20 + 10 * 2 * 12):
        shown = at_desk.get(PAGE)
    assert shown.content.decode().count("<section") == 10
