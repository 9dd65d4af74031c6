"""How many queries a request of an agent takes: few, and no more among many than among a few.

Each count includes the key's look-up, two savepoints and entering and leaving the account.
"""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from kmapp.accounts.models import Account
from tests.agent import Agent
from tests.fake_provider import FakeProvider
from tests.knowledge.made import deliver
from tests.makers import settle

TEXT = "\n\n".join(f"## Part {i}\n\n" + "Tea of the hill is good. " * 60 for i in range(6))


@pytest.fixture
def warm(agent: Agent, acme: Account, still: None, provider: FakeProvider) -> Agent:
    """What is looked up once a minute, or once a process, is known."""
    deliver(acme, {"warm.md": "Tea."})
    settle()
    agent.post("knowledge/search", {"query": "tea"})
    return agent


@pytest.mark.parametrize("number", [2, 60])
def test_reading_costs_the_same_among_many(
    warm: Agent, acme: Account, number: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for i in range(number // 2):
        deliver(acme, {"a.md": TEXT, "b.md": f"Tea {i}."}, name=f"source {i}")
    settle()
    asked: dict[str, Any] = {"query": "tea of the hill", "limit": 50, "explain": True}
    with django_assert_max_num_queries(16):
        found = warm.post("knowledge/search", asked, 200)["results"]
    assert len(found) >= min(number, 50)
    with django_assert_max_num_queries(8):  # remembered: only the rows are read
        again = warm.post("knowledge/search", asked, 200)
    assert [each["id"] for each in again["results"]] == [each["id"] for each in found]
    assert "km_cache_hit" in {each["code"] for each in again["decisions"]}
    narrowed = {"sources": ["source 0"], "trust": ["untrusted"], "mime": ["text/markdown"]}
    with django_assert_max_num_queries(18):
        warm.post("knowledge/search", {**asked, **narrowed}, 200)
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


def test_sources_are_paged_by_name_and_none_is_left_out(agent: Agent) -> None:
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
