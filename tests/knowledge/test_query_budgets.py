"""The number of queries per API request, which does not grow with the rows.

Each count includes loading the key, two savepoints, and entering and leaving the account.
"""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from kmapp.accounts.models import Account
from tests.agent import Agent
from tests.fake_provider import FakeProvider
from tests.knowledge.deliveries import deliver
from tests.makers import settle

TEXT = "\n\n".join(f"## Part {i}\n\n" + "Tea of the hill is good. " * 60 for i in range(6))


@pytest.fixture
def warm(agent: Agent, acme: Account, still: None, provider: FakeProvider) -> Agent:
    """An agent whose first request has filled the caches."""
    deliver(acme, {"warm.md": "Tea."})
    settle()
    agent.post("knowledge/search", {"query": "tea"})
    return agent


@pytest.mark.parametrize("number", [2, 60])
def test_query_count_does_not_grow_with_documents(
    warm: Agent, acme: Account, number: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for i in range(number // 2):
        deliver(acme, {"a.md": TEXT, "b.md": f"Tea {i}."}, name=f"source {i}")
    settle()
    body: dict[str, Any] = {"query": "tea of the hill", "limit": 50, "explain": True}
    with django_assert_max_num_queries(16):
        found = warm.post("knowledge/search", body, 200)["results"]
    assert len(found) >= min(number, 50)
    with django_assert_max_num_queries(8):  # cached: only the rows are loaded
        again = warm.post("knowledge/search", body, 200)
    assert [each["id"] for each in again["results"]] == [each["id"] for each in found]
    assert "km_cache_hit" in {each["code"] for each in again["decisions"]}
    narrowed = {"sources": ["source 0"], "trust": ["untrusted"], "mime": ["text/markdown"]}
    with django_assert_max_num_queries(18):
        warm.post("knowledge/search", {**body, **narrowed}, 200)
    with django_assert_max_num_queries(9):
        warm.post("knowledge/get", {"citation": found[0]["citations"][0]}, 200)
    with django_assert_max_num_queries(10):
        warm.post("knowledge/get", {"id": found[0]["id"]}, 200)
    with django_assert_max_num_queries(6):
        listed = warm.get("knowledge/sources", limit=200)["sources"]
    assert len(listed) == number // 2 + 1
    with django_assert_max_num_queries(6):
        warm.get(f"knowledge/sources/{listed[0]['id']}")
    with django_assert_max_num_queries(6):
        warm.get(f"knowledge/documents/{found[0]['citations'][0]['ref']}")
    with django_assert_max_num_queries(6):
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
