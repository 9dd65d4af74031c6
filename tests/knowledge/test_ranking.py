"""Rerankers, and the comparison of two search variants on saved questions."""

from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries as MaxQueries
from pytest_django import Settings

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.search.reranking import MAX_CANDIDATES, RERANK_SHARE
from kmapp.search.variants import VARIANTS
from knowledge.actions.reindex import reindex_source
from knowledge.actions.sources import change_source, lock_source
from knowledge.models import KnowledgeQuestion, KnowledgeSource
from knowledge.retrieval.variant_comparison import compare_variants
from tests import makers
from tests.agent import Agent
from tests.fake_provider import FakeProvider
from tests.knowledge.builders import deliver
from tests.makers import settle

FILES = {
    "a.md": "# A\n\nOolong, oolong and again oolong: a word about oolong.",
    "b.md": "# B\n\nThe leaf of which the oolong is made, steeped at ninety-five degrees.",
}


def find(agent: Agent, **more: Any) -> dict[str, Any]:
    body_sent = {"query": "oolong", "explain": True, **more}
    results: dict[str, Any] = agent.post("knowledge/search", body_sent, 200)
    return results


def codes(found: dict[str, Any]) -> set[str]:
    return {each["code"] for each in found["decisions"]}


def leaf_score(text: str) -> float:
    return 0.9 if "leaf" in text else 0.2


def test_reranker_changes_order_and_score(
    agent: Agent, acme: Account, settings: Settings, reranker: FakeProvider
) -> None:
    deliver(acme, FILES)
    url, settings.RERANK_BASE_URL = settings.RERANK_BASE_URL, ""
    before = find(agent)
    assert not reranker.requests
    settings.RERANK_BASE_URL = url
    reranker.become(reply=leaf_score)
    after = find(agent)
    assert [each["title"] for each in before["results"]] == ["A", "B"]
    assert [each["title"] for each in after["results"]] == ["B", "A"]
    assert "km_reranked" in codes(after)
    [body] = reranker.seen
    assert body["documents"][0] == FILES["a.md"].replace("# A\n\n", "A\n# A\n\n")
    fused = {each["title"]: each["score"] for each in before["results"]}
    for each in after["results"]:
        parts = each["explain"]["parts"]
        assert each["score"] == pytest.approx(sum(parts.values()))
        assert parts["rerank"] == pytest.approx(RERANK_SHARE * leaf_score(each["text"]))
        assert each["score"] - parts["rerank"] == pytest.approx(
            (1 - RERANK_SHARE) * fused[each["title"]]
        )
    least = after["results"][0]["score"] - 0.01
    assert [each["title"] for each in find(agent, min_score=least)["results"]] == ["B"]


def test_failing_reranker_leaves_the_fused_order(
    committed: str, agent: Agent, acme: Account, settings: Settings, reranker: FakeProvider
) -> None:
    deliver(acme, FILES)
    settle()
    modes = ("error", "garbage", "too_few", "rate_limited", "drip")
    for limit, mode in enumerate(modes, start=10):  # each limit has its own cache entry
        settings.RERANK_DEADLINE = 20.0 if mode != "drip" else 0.3
        reranker.become(mode)
        for _ in range(2):  # such a response is not cached
            results = find(agent, limit=limit)
            assert [each["title"] for each in results["results"]] == ["A", "B"], mode
            assert "rerank" not in results["results"][0]["explain"]["parts"], mode
            [failure] = [e for e in results["decisions"] if e["code"] == "km_rerank_failed"]
            assert failure["reason"] in {"km_provider_error", "km_timeout"}, mode
        reranker.become(reply=leaf_score)
        settings.RERANK_DEADLINE = 20.0
        results = find(agent, limit=limit)
        assert [each["title"] for each in results["results"]] == ["B", "A"], mode
        assert "km_cache_hit" in codes(find(agent, limit=limit)), mode


def test_number_of_reranked_texts_is_limited(
    agent: Agent, acme: Account, reranker: FakeProvider
) -> None:
    deliver(acme, {f"{i}.md": f"Oolong of hill {i}." for i in range(120)})
    assert len(find(agent, limit=10)["results"]) == 10
    assert len(find(agent, limit=50)["results"]) == 50
    read = [len(body["documents"]) for body in reranker.seen]
    assert read == [30, 50]
    assert max(read) <= MAX_CANDIDATES


def test_memories_are_reranked_too(agent: Agent, reranker: FakeProvider) -> None:
    for text in ("Oolong, oolong and again oolong.", "The leaf of which the oolong is made."):
        agent.store(text, user_id="u")
    body_sent = {"query": "oolong", "user_id": "u", "explain": True, "limit": 1}
    reranker.become(reply=leaf_score)
    results = agent.post("memory/search", body_sent, 200)
    [best] = results["results"]
    assert best["text"].startswith("The leaf")
    assert best["explain"]["parts"]["rerank"] == pytest.approx(RERANK_SHARE * 0.9)
    assert best["score"] == pytest.approx(sum(best["explain"]["parts"].values()))
    reranker.become("error")
    results = agent.post("memory/search", body_sent, 200)
    assert results["results"][0]["text"].startswith("Oolong, oolong")
    assert "km_rerank_failed" in codes(results)


PAGE = "/knowledge/comparison/"
PARTS = [f"## Part {i}\n\n" + f"The tea of hill {i} is picked by hand. " * 12 for i in range(6)]
HILLS = {"long.md": "# Hills\n\n" + "\n\n".join(PARTS), "short.md": "# Cups\n\nA tea cup."}


def index_both_versions(account: Account) -> None:
    with acting(account):
        source = lock_source(account.pk, KnowledgeSource.objects.of(account).get().pk)
        assert source
        change_source(source, SYSTEM, {"index_versions": ["1", "2"]})
    list(reindex_source(source))
    settle()


@pytest.mark.usefixtures("provider")
def test_documents_found_by_one_variant_only(committed: str, acme: Account) -> None:
    deliver(acme, HILLS)
    settle()
    results = compare_variants(acme.pk, "tea of hill 3", VARIANTS["v1"], VARIANTS["v2"])
    assert [move.right for move in results.changes] == [None, None]
    assert results.changed_count == 2
    index_both_versions(acme)
    again = compare_variants(acme.pk, "tea of hill 3", VARIANTS["v1"], VARIANTS["v2"])
    assert all(move.left and move.right for move in again.changes)
    assert {place.chunk.index_version for place in again.right.by_document.values()} == {"2"}
    same = compare_variants(acme.pk, "tea of hill 3", VARIANTS["v1"], VARIANTS["v1"])
    assert (same.changed_count, {move.ranks_up for move in same.changes}) == (0, {0})


@pytest.mark.usefixtures("provider")
def test_questions_are_saved_run_and_deleted(reviewer: Client, acme: Account) -> None:
    deliver(acme, HILLS)
    settle()
    assert "No questions yet" in reviewer.get(PAGE).content.decode()
    here = f"{PAGE}?left=v1&right=v3"
    for _ in range(2):  # a repeated question is saved once
        saved = reviewer.post(f"{PAGE}ask/", {"text": "<b>Which hill?</b>", "next": here})
        assert saved.headers["Location"] == here
    page_text = reviewer.get(here).content.decode()
    assert "&lt;b&gt;Which hill?" in page_text
    assert "long.md" in page_text
    assert "manage.py knowledge index" in reviewer.get(PAGE).content.decode()
    assert reviewer.get(PAGE, {"left": "v9"}).status_code == 400
    assert reviewer.post(f"{PAGE}ask/", {"text": " "}).status_code == 400
    [question] = makers.rows(KnowledgeQuestion, acme)
    assert reviewer.post(f"{PAGE}{question.pk}/forget/").status_code == 302
    assert reviewer.post(f"{PAGE}{question.pk}/forget/").status_code == 404


@pytest.mark.usefixtures("provider")
def test_page_shows_ten_questions(reviewer: Client, acme: Account, max_queries: MaxQueries) -> None:
    deliver(acme, HILLS)
    settle()
    for i in range(12):
        reviewer.post(f"{PAGE}ask/", {"text": f"Which hill is number {i}?"})
    reviewer.get(PAGE)
    with max_queries(20 + 10 * 2 * 12):
        page_text = reviewer.get(PAGE)
    assert page_text.content.decode().count("<section") == 10
