"""Search for passages, and reading of citations."""

from functools import partial
from typing import Any

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.search.models import Vector
from knowledge.actions.erasure import erase_document
from knowledge.models import KnowledgeChunk, KnowledgeText
from knowledge.retrieval import search as knowledge_search
from tests import makers
from tests.agent import Agent
from tests.fake_provider import FakeProvider
from tests.knowledge.builders import deliver
from tests.knowledge.test_races import call_before
from tests.makers import settle

BREWING = """# Brewing

Water for green tea is poured at eighty degrees.

## Oolong

Oolong takes ninety-five degrees and a short first infusion.

## 普洱

普洱茶要用沸水冲泡，第一泡倒掉。
"""
PARTS = [f"## Part {i}\n\n" + f"The oolong harvest of part {i} was good. " * 40 for i in (1, 2)]
HARVEST = "# Harvest\n\n" + "\n\n".join(PARTS)
CUPS = "# Cups\n\nA gaiwan holds a hundred millilitres. It has a lid.\n"


def find(agent: Agent, query: str, headers: Any = None, **more: Any) -> dict[str, Any]:
    results: dict[str, Any] = agent.post(
        "knowledge/search", {"query": query, **more}, 200, **(headers or {})
    )
    return results


def texts(found: dict[str, Any]) -> list[str]:
    return [each["text"] for each in found["results"]]


def test_finds_by_words_before_embedding_and_by_meaning_after(agent: Agent, acme: Account) -> None:
    deliver(acme, {"brewing.md": BREWING, "cups.md": CUPS})
    results = find(agent, "gaiwan lid")
    assert "gaiwan" in texts(results)[0]
    assert results["results"][0]["embedding_status"] == "PENDING"
    settle()
    [first, *_] = find(agent, "the lid of a gaiwan", explain=True)["results"]
    assert first["embedding_status"] == "READY"
    assert first["score"] == pytest.approx(sum(first["explain"]["parts"].values()))
    assert first["citations"][0]["index_version"] == "1"
    assert "普洱" in texts(find(agent, "普洱用什么水"))[0]


def test_result_states_a_failed_embedding(agent: Agent, acme: Account) -> None:
    deliver(acme, {"cups.md": CUPS})
    makers.update(Vector, acme, {}, state="FAILED", error="bad")
    assert find(agent, "gaiwan lid")["results"][0]["embedding_status"] == "FAILED"


def test_citation_returns_the_old_text_after_changes(agent: Agent, acme: Account) -> None:
    deliver(acme, {"cups.md": CUPS})
    [hit, *_] = find(agent, "gaiwan")["results"]
    [citation] = hit["citations"]
    now = agent.post("knowledge/get", {"citation": citation}, 200, **{"X-KM-Strict": "1"})
    assert (now["text"], now["current"], now["moved"]) == (hit["text"], True, None)
    deliver(acme, {"cups.md": "New words first.\n\n" + CUPS})
    later = agent.post("knowledge/get", {"citation": citation})
    assert (later["text"], later["current"]) == (hit["text"], False)
    assert later["moved"]["still_there"]
    deliver(acme, {"cups.md": CUPS.replace("hundred", "dozen")})
    changed = agent.post("knowledge/get", {"citation": citation})
    assert changed["text"] == hit["text"]
    assert not changed["moved"]["still_there"]
    deliver(acme, {}, remove=["cups.md"])
    assert agent.post("knowledge/get", {"citation": citation})["moved"]["removed_at"]


def test_get_by_line_or_id(agent: Agent, acme: Account) -> None:
    deliver(acme, {"cups.md": CUPS})
    [hit, *_] = find(agent, "gaiwan")["results"]
    by_id = agent.post("knowledge/get", {"id": hit["id"]})
    [cited] = hit["citations"]
    assert agent.post("knowledge/get", {"uri": cited["uri"]})["text"] == by_id["text"]
    for uri in ("kmapp://tea", cited["uri"].replace("@", "000000000@")):
        assert agent.post("knowledge/get", {"uri": uri}, 400)["issues"][0]["path"] == "uri"
    assert by_id["text"] == hit["text"]
    ref = hit["citations"][0]["ref"]
    locator = {"line_start": 3, "line_end": 3}
    quoted = agent.post("knowledge/get", {"citation": {"ref": ref, "locator": locator}})
    assert quoted["text"] == CUPS.split("\n")[2]


def test_rejects_invalid_locators(agent: Agent, acme: Account) -> None:
    [document] = deliver(acme, {"cups.md": CUPS}).documents
    locators: list[tuple[dict[str, Any], int]] = [
        ({}, 400),
        ({"start": 5, "end": 5}, 400),
        ({"start": 0, "end": 10**6}, 404),
        ({"sha": "0" * 64, "start": 0, "end": 1}, 404),
        ({"sha": "x", "start": 0, "end": 1}, 400),
        ({"start": -1, "end": 1}, 400),
        ({"start": 2**40, "end": 2**41}, 400),
    ]
    for locator, status in locators:
        citation = {"ref": str(document.pk), "locator": locator}
        agent.post("knowledge/get", {"citation": citation}, status)


def test_filters(agent: Agent, acme: Account) -> None:
    deliver(acme, {"a.md": "Tea of A."}, name="a", kind="repo_docs", revision="r1")
    deliver(acme, {"b.txt": "Tea of B."}, name="b", kind="upload", scope="shop")
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({}, {"a", "b"}),
        ({"sources": ["a"]}, {"a"}),
        ({"trust": ["untrusted"]}, {"b"}),
        ({"mime": ["text/markdown"]}, {"a"}),
        ({"scope": "shop"}, {"b"}),
        ({"scope": ""}, {"a"}),
        ({"version": "r1"}, {"a"}),
        ({"kinds": ["upload"]}, {"b"}),
        ({"kind": "upload"}, {"b"}),
        ({"source": "a"}, {"a"}),
        ({"sources": ["nowhere"]}, set()),
    ]
    for filters, expected in cases:
        results = find(agent, "tea", None, **filters)["results"]
        assert {each["source"] for each in results} == expected, filters


def test_adjacent_chunks_are_merged(agent: Agent, acme: Account) -> None:
    deliver(acme, {"h.md": HARVEST})
    merged = find(agent, "oolong harvest good")["results"]
    apart = find(agent, "oolong harvest good", merge=False)["results"]
    assert len(merged) < len(apart)
    assert merged[0]["text"] in HARVEST
    quoted = agent.post("knowledge/get", {"citation": merged[0]["citations"][0]})
    assert quoted["text"] == merged[0]["text"]


def test_chunks_that_move_during_a_search_are_not_merged(
    agent: Agent, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver(acme, {"h.md": HARVEST})
    chunk_texts = {chunk.text for chunk in makers.rows(KnowledgeChunk, acme)}

    def reverse_chunks() -> None:
        with acting(acme):
            chunks = list(KnowledgeChunk.objects.of(acme).order_by("chunk_index"))
            places = [(chunk.chunk_index, chunk.start, chunk.end) for chunk in reversed(chunks)]
            for chunk, place in zip(chunks, places, strict=True):
                chunk.chunk_index, chunk.start, chunk.end = place
            KnowledgeChunk.objects.bulk_update(chunks, ["chunk_index", "start", "end"])

    assert not chunk_texts.issuperset(texts(find(agent, "oolong harvest good")))
    call_before(monkeypatch, knowledge_search, "_load_snippets", reverse_chunks)
    assert chunk_texts.issuperset(texts(find(agent, "oolong harvest good")))


def test_passage_of_a_document_that_is_erased_during_a_search_is_left_out(
    agent: Agent, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    [document] = deliver(acme, {"h.md": HARVEST}).documents
    chunk_texts = {chunk.text for chunk in makers.rows(KnowledgeChunk, acme)}
    erase = partial(erase_document, acme.pk, document.pk, SYSTEM)
    call_before(monkeypatch, knowledge_search, "load_slices", erase)
    assert chunk_texts.issuperset(texts(find(agent, "oolong harvest good")))
    assert find(agent, "oolong harvest good")["results"] == []


def test_results_are_cached_until_a_change(committed: str, agent: Agent, acme: Account) -> None:
    deliver(acme, {"cups.md": CUPS})
    settle()

    def codes() -> set[str]:
        return {decision["code"] for decision in find(agent, "gaiwan")["decisions"]}

    assert "km_cache_hit" not in codes()
    assert "km_cache_hit" in codes()
    deliver(acme, {"cups.md": CUPS + "Another gaiwan."})
    assert "km_cache_hit" not in codes()
    assert "Another" in str(find(agent, "gaiwan"))


def test_results_are_cached_until_their_source_is_no_longer_trusted(
    committed: str, agent: Agent, acme: Account
) -> None:
    deliver(acme, {"cups.md": CUPS}, trust="trusted")
    settle()
    assert "gaiwan" in str(find(agent, "gaiwan", trust=["trusted"])["results"])
    agent.post("knowledge/sources", {"name": "docs", "trust": "untrusted"}, 200)
    assert find(agent, "gaiwan", trust=["trusted"])["results"] == []


def test_finds_by_words_without_an_embedder(
    agent: Agent, acme: Account, provider: FakeProvider
) -> None:
    deliver(acme, {"cups.md": CUPS})
    provider.become("error")
    results = find(agent, "a gaiwan that nobody asked for")
    assert "gaiwan" in texts(results)[0]
    assert results["decisions"][0]["code"] == "km_provider_error"


def test_header_selects_the_variant(agent: Agent, acme: Account) -> None:
    deliver(acme, {"cups.md": CUPS})
    assert find(agent, "gaiwan", {"X-KM-Variant": "v3"})["algo_version"] == "2"
    assert find(agent, "gaiwan", {"X-KM-Variant": "v2"})["results"] == []
    agent.post("knowledge/search", {"query": "x"}, 400, **{"X-KM-Variant": "v9"})


def test_erased_document_returns_410_with_its_commit(agent: Agent, acme: Account) -> None:
    result = deliver(acme, {"cups.md": CUPS, "brewing.md": BREWING})
    [hit, *_] = find(agent, "gaiwan")["results"]
    citation, path = hit["citations"][0], f"/v1/knowledge/documents/{hit['citations'][0]['ref']}"
    erased = agent.client.delete(path).json()
    gone = agent.post("knowledge/get", {"citation": citation}, 410)
    assert gone["details"]["commit_id"] == erased["commit_id"]
    assert agent.client.delete(path).status_code == 410
    assert "gaiwan" not in str(find(agent, "gaiwan"))
    source = f"/v1/knowledge/sources/{result.documents[0].source_id}"
    assert agent.client.delete(source).status_code == 200
    assert agent.client.get(source).status_code == 410
    assert not makers.rows(KnowledgeText, acme)
    assert agent.get("memory/verify")["ok"]


def test_accounts_are_separated(agent: Agent, rival: Account) -> None:
    deliver(rival, {"cups.md": CUPS})
    assert find(agent, "gaiwan")["results"] == []
