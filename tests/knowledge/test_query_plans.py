"""Query budgets and query plans of knowledge."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from django.db import connection, connections
from pytest_django import DjangoAssertNumQueries as MaxQueries

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.providers.active_models import active_model
from kmapp.providers.embedding_model_lifecycle import OWNER
from kmapp.search import scan_method_choice
from kmapp.search.models import Vector
from kmapp.search.posting_packing import pack_recent
from kmapp.search.query_vector import QueryVector
from kmapp.search.variants import DEFAULT_VARIANT
from knowledge.chunking.index_versions import collection_name
from knowledge.models import KnowledgeChunk, KnowledgeDocument, KnowledgeSource
from knowledge.retrieval.citations import CitedSpan, load_cited_text
from knowledge.retrieval.search import KnowledgeSearch, search_with_vector
from memory.benchmarks import query_plans
from tests.agent import Agent
from tests.fake_provider import FakeProvider
from tests.knowledge.builders import deliver
from tests.makers import settle

TEXT = "\n\n".join(f"## Part {i}\n\n" + "Tea of the hill is good. " * 60 for i in range(6))


@pytest.fixture
def warm(agent: Agent, acme: Account, frozen_caches: None, provider: FakeProvider) -> Agent:
    """An agent whose first request has filled the caches."""
    deliver(acme, {"warm.md": "Tea."})
    settle()
    agent.post("knowledge/search", {"query": "tea"})
    return agent


def test_query_count_does_not_grow_with_documents(
    warm: Agent, acme: Account, max_queries: MaxQueries
) -> None:
    for i in range(30):
        deliver(acme, {"a.md": TEXT, "b.md": f"Tea {i}."}, name=f"source {i}")
    settle()
    body: dict[str, Any] = {"query": "tea of the hill", "limit": 50, "explain": True}
    with max_queries(16):
        results = warm.post("knowledge/search", body, 200)["results"]
    assert len(results) >= 50
    with max_queries(8):  # cached: only the rows are loaded
        again = warm.post("knowledge/search", body, 200)
    assert [each["id"] for each in again["results"]] == [each["id"] for each in results]
    assert "km_cache_hit" in {each["code"] for each in again["decisions"]}
    narrowed = {"sources": ["source 0"], "trust": ["untrusted"], "mime": ["text/markdown"]}
    with max_queries(18):
        warm.post("knowledge/search", {**body, **narrowed}, 200)
    with max_queries(9):
        warm.post("knowledge/get", {"citation": results[0]["citations"][0]}, 200)
    with max_queries(10):
        warm.post("knowledge/get", {"id": results[0]["id"]}, 200)
    with max_queries(6):
        list_results = warm.get("knowledge/sources", limit=200)["sources"]
    assert len(list_results) == 31
    with max_queries(6):
        warm.get(f"knowledge/sources/{list_results[0]['id']}")
    with max_queries(6):
        warm.get(f"knowledge/documents/{results[0]['citations'][0]['ref']}")
    with max_queries(6):
        warm.post("knowledge/lorebook/evaluate", {"messages": ["Tea?"]}, 200)


def test_sources_are_paged_by_name(agent: Agent) -> None:
    for scope in ("", "shop", "mill"):
        for name in ("a/b", "b"):
            agent.post("knowledge/sources", {"name": name, "scope": scope}, 201)
    seen: list[tuple[str, str]] = []
    page: dict[str, Any] = agent.get("knowledge/sources", limit=2)
    while True:
        seen += [(each["name"], each["scope"] or "") for each in page["sources"]]
        if not page["next"]:
            break
        page = agent.get("knowledge/sources", limit=2, after=page["next"])
    assert len(seen) == len(set(seen)) == 6
    assert [name for name, _ in seen] == ["a/b"] * 3 + ["b"] * 3
    agent.get("knowledge/sources", 400, after="b")


LARGE, SMALL = 2_000, 30
BATCH_SIZE = 250
TABLES = [
    *("search_packedpostings", "search_indexeddocument", "search_vector"),
    *("knowledge_knowledgechunk", "knowledge_knowledgedocument", "knowledge_knowledgetext"),
    "knowledge_knowledgesource",
]


def deliver_with_vectors(account: Account, number: int) -> None:
    """Deliver documents of one chunk and give them random vectors."""
    for start in range(0, number, BATCH_SIZE):
        files = {
            f"{i}.md": f"# Hill {i}\n\nThe tea of hill {i} is picked in week {i % 52} by hand."
            for i in range(start, min(number, start + BATCH_SIZE))
        }
        deliver(account, files, name=f"hills {start // 1_000}")
        with acting(account), connection.cursor() as cursor:
            cursor.execute(
                "UPDATE search_vector v SET state = 'READY', embedding = (SELECT "
                "array_agg(random() - 0.5 + 0 * i * length(v.text_sha256))::vector "
                "FROM generate_series(1, %s) i) WHERE account_id = %s AND state = 'PENDING'",
                [active_model().dimensions, account.pk],
            )


def frequent_statements(account: Account) -> Iterator[query_plans.CapturedStatement]:
    """Yield the statements of search, citations and the pages of a source and a document."""
    scan_method_choice.clear_query_caches()
    rng = np.random.default_rng(1)
    meaning = QueryVector.from_floats(
        active_model(), rng.normal(size=active_model().dimensions).tolist()
    )
    with query_plans.capture_statements("search") as statements:
        for query in (
            KnowledgeSearch(query="tea of which hill"),
            KnowledgeSearch(query="tea by hand", sources=("hills 0",), trust=("untrusted",)),
            KnowledgeSearch(query="tea by hand", mime=("text/markdown",), scope="", version="r1"),
        ):
            search_with_vector(account.pk, query, meaning)
    yield from statements
    with acting(account):
        document = KnowledgeDocument.objects.of(account)[0]
        place = CitedSpan(document_id=document.pk, sha256="", start=0, end=5)
        with query_plans.capture_statements("get") as statements:
            load_cited_text(account.pk, place)
        yield from statements
        documents = KnowledgeDocument.objects.of(account).not_removed()
        with query_plans.capture_statements("documents of a source") as statements:
            list(documents.filter(source_id=document.source_id).newest_first()[:50])
        yield from statements
        with query_plans.capture_statements("chunks of a document") as statements:
            chunks = KnowledgeChunk.objects.of(account).filter(document=document)
            list(chunks.of_index_version("1").order_by("chunk_index")[:20])
        yield from statements
        with query_plans.capture_statements("failures") as statements:
            list(documents.filter(state="failed").newest_first()[:50])
        yield from statements


@pytest.mark.timeout(600)
def test_no_frequent_query_scans_a_whole_table(
    committed: str, acme: Account, rival: Account
) -> None:
    deliver_with_vectors(acme, LARGE)
    deliver_with_vectors(rival, SMALL)
    for account in (acme, rival):
        pack_recent(account.pk, collection_name(DEFAULT_VARIANT.index_version), at_least=1)
    with connections[OWNER].cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"ANALYZE {table}")
    with acting(acme):
        assert KnowledgeSource.objects.of(acme).count() == LARGE // 1_000
        assert Vector.objects.of(acme).filter(state="READY").count() == LARGE
    # An account with nearly all rows of a small table may scan it, but never the postings.
    for account, allowed in ((acme, set(TABLES[1:])), (rival, {"knowledge_knowledgesource"})):
        wrong = []
        for statement in list(frequent_statements(account)):
            with acting(account):
                results = query_plans.list_scans(statement)
            scanned = set(query_plans.filter_sequential_scans(results)) - allowed
            wrong += [
                f"{statement.name} reads all of {table}: {statement.sql}" for table in scanned
            ]
        assert wrong == [], account.name
