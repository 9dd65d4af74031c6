"""Query budgets of requests: few queries, and no more for a hundred memories than for two.

Each count includes the key's look-up, two savepoints and entering and leaving the account.
"""

from typing import Any

import pytest
from django.db import connection
from pytest_django import DjangoAssertNumQueries as MaxQueries

from kmapp.ledger.checkpoints import sign_moved_heads
from kmapp.outbox.deliver import deliver_due
from tests import makers
from tests.agent import Agent

pytestmark = pytest.mark.usefixtures("provider")  # the number does not depend on vectors


def nodes(number: int, name: str) -> list[dict[str, Any]]:
    return [
        {"client_id": f"{name}{i}", "text": f"Thing {name} {i}.", "user_id": "u", "run_id": "r"}
        for i in range(number)
    ]


@pytest.fixture
def warm(agent: Agent, frozen_caches: None) -> Agent:
    """An agent after the first requests, which fill caches."""
    agent.post("memory/write", {"nodes": nodes(2, "warm")}, 201)
    makers.settle()
    agent.post("memory/search", {"query": "thing", "user_id": "u"})
    return agent


def test_batch_write(warm: Agent, max_queries: MaxQueries) -> None:
    def write(number: int, name: str) -> object:
        ends = {"src": {"client_id": f"{name}0"}, "dst": {"client_id": f"{name}1"}}
        body = {"nodes": nodes(number, name), "edges": [{"type": "related_to", **ends}]}
        return warm.post("memory/write", {**body, "input_text": "said"}, 201)

    for number, name in ((2, "a"), (100, "b")):
        with max_queries(17):
            write(number, name)


def test_new_memories(warm: Agent, max_queries: MaxQueries) -> None:
    """In a transaction of its own, the write itself needs nine: see docs/decisions/writes.md."""
    for number in (1, 100):
        with max_queries(11):
            warm.post("memory/write", {"nodes": nodes(number, f"n{number}-")}, 201)


def test_inserts_are_prepared(warm: Agent) -> None:
    for name in ("p", "q"):
        warm.post("memory/write", {"nodes": nodes(1, name)}, 201)
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        prepared = "".join(statement for [statement] in cursor.fetchall())
    for table in ("memory_memoryentry", "search_indexeddocument", "ledger_seal", "ledger_commit"):
        assert f"INSERT INTO {table}" in prepared.replace('"', "")


def test_jobs_of_new_memories(warm: Agent, max_queries: MaxQueries) -> None:
    for number in (2, 32):
        warm.post("memory/write", {"nodes": nodes(number, f"j{number}-")}, 201)
        for queue, most in (("embedding", 69), ("default", 23), ("clustering", 24)):
            with max_queries(most):
                assert deliver_due(queue) > 0


def test_repeated_batch(warm: Agent, max_queries: MaxQueries) -> None:
    body = {"nodes": nodes(50, "c")}
    warm.post("memory/write", body, 201)
    with max_queries(12) as queries:
        warm.post("memory/write", body, 200)
    assert [each["sql"] for each in queries if each["sql"].startswith("INSERT")] == []


def test_search(warm: Agent, max_queries: MaxQueries) -> None:
    query = {"query": "thing", "user_id": "u", "limit": 50, "explain": True}
    for number in (2, 60):
        warm.post("memory/write", {"nodes": nodes(number, f"d{number}")}, 201)
        makers.settle()
        # Some of the queries fill caches: the model and the number of texts.
        with max_queries(17):
            warm.post("memory/search", query)
    assert len(warm.post("memory/search", query)["results"]) == 50


def test_search_with_missing_vectors(warm: Agent, max_queries: MaxQueries) -> None:
    query = {"query": "thing", "user_id": "u", "limit": 50}
    counts = []
    for number in (0, 1, 20):
        if number:
            body = {"nodes": nodes(number, f"e{number}"), "auto_embed": False}
            warm.post("memory/write", body, 201)
        warm.post("memory/search", query)
        with max_queries(17) as queries:
            result = warm.post("memory/search", query)["results"]
        assert len([hit for hit in result if hit["embedding_status"] == "NONE"]) >= number
        counts.append(len(queries))
    assert counts == [counts[0], counts[0] + 1, counts[0] + 1]


def test_reading_a_long_history(warm: Agent, max_queries: MaxQueries) -> None:
    pk = warm.post("memory/get", {"client_id": "warm0"})["id"]
    for i in range(5):
        warm.post("memory/update", {"id": pk, "text": f"Thing {i}."}, 200)
    with max_queries(6):
        assert warm.post("memory/get", {"id": pk})["version"] == 6
    with max_queries(8):
        assert len(warm.get(f"memory/{pk}/history")["versions"]) == 6
    with max_queries(6):
        assert len(warm.get("memory/commits")["commits"]) > 6
    sign_moved_heads()
    with max_queries(17):
        assert warm.get("memory/verify")["ok"]


def test_update_and_forget(warm: Agent, max_queries: MaxQueries) -> None:
    with max_queries(26):
        warm.post("memory/update", {"client_id": "warm0", "text": "Another thing."}, 200)
    with max_queries(17):
        warm.post("memory/forget", {"client_id": "warm0"})
