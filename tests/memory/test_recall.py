"""Recall and injection around a query."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.search.score_calibration import (
    MIN_CONFIDENCE,
    RESPONSE_CALIBRATION,
    RESULT_CALIBRATION,
    compute_following_mean,
)
from memory.actions.access_counts import flush_access_counts
from memory.actions.shadow_comparisons import store_observations
from memory.models import MemoryEdge, MemoryEntry
from memory.retrieval.access_counters import take_counts
from tests import makers
from tests.agent import Agent
from tests.rules.builders import add_rule

HOUR = timedelta(hours=1)


@pytest.fixture
def filled(agent: Agent) -> Agent:
    nodes: list[dict[str, Any]] = [
        {"client_id": "trip", "text": "Ann plans a trip to Lisbon in May.", "user_id": "u"},
        {"client_id": "hotel", "text": "The Aurora has a roof terrace.", "user_id": "u"},
        {"client_id": "cook", "text": "Its cook grew up near the sea.", "user_id": "u"},
        {
            "client_id": "tax",
            "text": "Tax returns are due in July.",
            "user_id": "u",
            "slots": {"a": 1},
        },
    ]
    edges = [
        {"type": kind, "src": {"client_id": src}, "dst": {"client_id": dst}, "weight": 0.9}
        for kind, src, dst in (("related_to", "trip", "hotel"), ("part_of", "cook", "hotel"))
    ]
    agent.post("memory/write", {"nodes": nodes, "edges": edges}, 201)
    return agent


def texts(nodes: list[dict[str, Any]]) -> set[str]:
    return {node["text_summary"].split()[1] for node in nodes}


def test_recall_includes_linked_memories(filled: Agent) -> None:
    query = {"query_text": "Lisbon trip", "user_id": "u", "limit": 1}
    one = filled.post("memory/recall_text", {**query, "neighborhood_hops": 1})
    assert texts(one["seeds"]) == {"plans"}
    assert texts(one["subgraph"]["nodes"]) == {"plans", "Aurora"}
    two = filled.post("memory/recall_text", query)
    assert texts(two["subgraph"]["nodes"]) == {"plans", "Aurora", "cook"}
    assert {edge["type"] for edge in two["subgraph"]["edges"]} == {"related_to", "part_of"}
    activations = [each["activation"] for each in two["ranked"]]
    assert activations == sorted(activations, reverse=True)
    assert two["query"] == {"text": "Lisbon trip", "embedding_provider": "multilingual-e5-small"}
    assert [item["node_id"] for item in two["context"]["items"]] == [
        citation["node_id"] for citation in two["context"]["citations"]
    ]


def test_weak_edges_are_not_followed(filled: Agent) -> None:
    query = {"query_text": "Lisbon trip", "user_id": "u", "limit": 1, "min_edge_weight": 0.95}
    result = filled.post("memory/recall_text", query)
    assert texts(result["subgraph"]["nodes"]) == {"plans"}


def test_node_and_text_budgets_are_respected(filled: Agent) -> None:
    query = {"query_text": "Lisbon trip", "user_id": "u"}
    few = filled.post("memory/recall_text", {**query, "max_nodes": 2, "max_edges": 0})
    assert len(few["subgraph"]["nodes"]) == 2
    assert few["subgraph"]["edges"] == []
    short = filled.post("memory/recall_text", {**query, "context_char_budget": 50})
    assert 0 < len(short["context"]["text"]) <= 50
    counted = filled.post("memory/recall_text", {**query, "context_token_budget": 15})
    assert 0 < counted["context"]["selection_stats"]["tokens"] <= 15


def test_metadata_and_slots_are_optional(filled: Agent) -> None:
    query = {"query_text": "tax returns", "user_id": "u", "limit": 1}
    [bare] = filled.post("memory/recall_text", query)["seeds"]
    assert not {"created_at", "updated_at", "commit_id", "slots", "slots_preview"} & bare.keys()
    wide = filled.post("memory/recall_text", {**query, "include_meta": True, "include_slots": True})
    assert wide["seeds"][0]["slots"] == {"a": 1}
    assert wide["seeds"][0]["commit_id"]


def test_recall_by_query_vector(filled: Agent) -> None:
    body = {"query_embedding": [0.1] * 384, "user_id": "u"}
    assert filled.post("memory/recall", body)["seeds"] == []  # nothing has a vector yet
    for errors in ([0.1] * 3, [0.0] * 384, [], [1e6] * 384):
        filled.post("memory/recall", {**body, "query_embedding": errors}, 400)


def test_recall_without_a_question_is_not_compared(filled: Agent, acme: Account) -> None:
    makers.learned_ranking(makers.get(MemoryEntry, acme, client_id="trip"))
    filled.post("memory/recall", {"query_embedding": [0.1] * 384, "user_id": "u"})
    assert store_observations(acme.pk) == 0


def test_prompt_block_format(filled: Agent) -> None:
    new = filled.post("memory/inject", {"query": "Lisbon trip", "user_id": "u", "max_memories": 1})
    [memory] = new["memories"]
    day = datetime.fromisoformat(memory["observed_at"])
    assert new["text"] == (
        f"## Relevant Memory ({day.year})\n"
        f"\n{day:%B} {day.day}\n"
        "[1] Ann plans a trip to Lisbon in May.\n"
    )
    assert (new["query"], new["threshold"]) == ("Lisbon trip", 0.0)
    assert new["tokens"] > 10
    high = filled.post("memory/inject", {"query": "Lisbon", "user_id": "u", "min_score": 1.0})
    assert (high["text"], high["memories"], high["has_relevant"]) == ("", [], False)
    assert high["confidence"] == 0


def test_confidence_decides_whether_a_response_is_relevant(filled: Agent) -> None:
    for query, is_relevant in (
        ("Ann plans a trip", True),
        ("Battery of the rover on Mars in May", False),
    ):
        response = filled.post("memory/inject", {"query": query, "user_id": "u"})
        best = response["memories"][0]
        assert response["has_relevant"] is is_relevant
        search = filled.post("memory/search", {"query": query, "user_id": "u", "limit": 50})
        following_mean = compute_following_mean([hit["score"] for hit in search["results"]])
        assert response["confidence"] == RESPONSE_CALIBRATION.probability(
            best["score"], following_mean, chinese=0
        )
        assert best["relevance"] == RESULT_CALIBRATION.probability(
            best["score"], following_mean, chinese=0
        )
        assert (response["confidence"] >= MIN_CONFIDENCE) is is_relevant


def test_prompt_block_respects_its_token_budget(filled: Agent) -> None:
    new = filled.post(
        "memory/inject", {"query": "Lisbon trip Aurora cook", "user_id": "u", "token_budget": 40}
    )
    assert 0 < new["tokens"] <= 40
    assert 0 < len(new["memories"]) < 3


def test_memories_that_exceed_the_token_budget_are_reported(filled: Agent) -> None:
    query = {"query": "Lisbon trip Aurora cook", "user_id": "u"}
    whole = filled.post("memory/inject", {**query, "token_budget": 1_000})
    assert "km_token_budget" not in {each["code"] for each in whole["decisions"]}
    empty = filled.post("memory/inject", {**query, "token_budget": 1})
    assert (empty["memories"], empty["has_relevant"]) == ([], False)
    [decision] = [each for each in empty["decisions"] if each["code"] == "km_token_budget"]
    assert decision["omitted"] == len(whole["memories"])
    assert decision["relevance"] == max(each["relevance"] for each in whole["memories"])


def test_token_budget_alone_limits_the_number_of_memories(agent: Agent) -> None:
    nodes = [{"text": f"The ferry number {i} leaves at {i}.", "user_id": "u"} for i in range(9)]
    agent.post("memory/write", {"nodes": nodes}, 201)
    query = {"query": "ferry", "user_id": "u"}
    assert len(agent.post("memory/inject", query)["memories"]) == 5  # by policy
    wide = agent.post("memory/inject", {**query, "token_budget": 1_000})
    assert len(wide["memories"]) == 9
    named = agent.post("memory/inject", {**query, "token_budget": 1_000, "max_memories": 3})
    assert len(named["memories"]) == 3


def test_prompt_block_mixes_run_and_other_memories(agent: Agent) -> None:
    nodes = [
        {"text": f"The ferry number {i} leaves from {run}.", "user_id": "u", "run_id": run}
        for run in ("r1", "r2")
        for i in range(6)
    ]
    agent.post("memory/write", {"nodes": nodes}, 201)
    query = {"query": "ferry", "user_id": "u", "run_id": "r1", "max_memories": 4}
    new = agent.post("memory/inject", query)["memories"]
    assert len(new) == 4
    assert sum(memory["run_id"] == "r1" for memory in new) >= 2
    assert len({memory["id"] for memory in new}) == 4


def test_prompt_block_states_a_text_of_several_runs_once(agent: Agent) -> None:
    for run, importance in (("r1", 0.5), ("r2", 1.0)):
        node = {"text": "The ferry leaves at nine.", "importance": importance, "dedupe": False}
        agent.post("memory/store", {**node, "user_id": "u", "run_id": run}, 201)
    query = {"query": "ferry", "user_id": "u", "run_id": "r1"}
    [memory] = agent.post("memory/inject", query)["memories"]
    assert memory["run_id"] == "r1"


def test_prompt_block_states_a_text_that_the_half_of_the_run_has_no_space_for(agent: Agent) -> None:
    nodes = [
        {
            "text": f"The ferry number {n} leaves.",
            "importance": share,
            "user_id": "u",
            "run_id": run,
        }
        for run, shares in (("r1", {1: 0.3, 2: 0.2, 3: 0.1}), ("r2", {3: 1.0, 4: 0.9, 5: 0.8}))
        for n, share in shares.items()
    ]
    agent.post("memory/write", {"nodes": nodes}, 201)
    query = {"query": "ferry", "user_id": "u", "run_id": "r1", "max_memories": 4}
    memories = agent.post("memory/inject", query)["memories"]
    assert {memory["text"] for memory in memories} == {nodes[i]["text"] for i in (0, 1, 3, 4)}


def test_policy_limits_or_disables_injection(filled: Agent, acme: Account) -> None:
    query = {"query": "Lisbon trip Aurora cook tax", "user_id": "u"}
    makers.set_policy(acme, {"inject_max_memories": 2})
    assert len(filled.post("memory/inject", query)["memories"]) == 2
    makers.set_policy(acme, {"memory_enabled": False})
    new = filled.post("memory/inject", query)
    assert new["memories"] == []
    assert new["decisions"][0]["code"] == "km_memory_off"


def test_duplicate_texts_are_returned_once(agent: Agent) -> None:
    for text in ("The door code is 42.", "the door code is 42", "The door code is 43."):
        agent.post("memory/store", {"text": text, "user_id": "u"}, 201)
    result = agent.post("memory/search", {"query": "door code", "user_id": "u"})["results"]
    assert len(result) == 2


def test_access_counts_are_flushed_together(filled: Agent, acme: Account) -> None:
    take_counts(acme.pk)
    before = makers.get(MemoryEntry, acme, client_id="trip")
    filled.post("memory/update", {"client_id": "trip", "text": before.content, "reason": "same"})
    makers.update(MemoryEntry, acme, {"client_id": "trip"}, access_count=0)
    for _ in range(3):
        filled.post("memory/search", {"query": "Lisbon", "user_id": "u", "limit": 1})
    assert makers.get(MemoryEntry, acme, client_id="trip").access_count == 0
    assert flush_access_counts(acme.pk) == 1
    assert flush_access_counts(acme.pk) == 0
    after = makers.get(MemoryEntry, acme, client_id="trip")
    assert after.access_count == 3
    assert after.last_accessed_at
    assert filled.get("memory/verify")["ok"]


def test_activated_edges_are_recorded(filled: Agent, acme: Account) -> None:
    filled.post("memory/search", {"query": "Aurora", "user_id": "u", "limit": 1})
    flush_access_counts(acme.pk)  # counts of earlier requests
    with acting(acme):
        MemoryEdge.objects.update(last_activated_at=None, created_at=timezone.now() - 2 * HOUR)
    filled.post("memory/recall_text", {"query_text": "Lisbon", "user_id": "u", "limit": 1})
    flush_access_counts(acme.pk)
    with acting(acme):
        [trip, tax] = (MemoryEntry.objects.get(client_id=name) for name in ("trip", "tax"))
        edges = MemoryEdge.objects.all()
        assert edges.filter(src=trip, last_activated_at__isnull=False).exists()
        assert not edges.filter(src=tax, last_activated_at__isnull=False).exists()
    assert filled.get("memory/verify")["ok"]


def test_access_makes_a_cold_memory_warm(agent: Agent, acme: Account) -> None:
    stored = agent.post(
        "memory/store", {"text": "Old harbour.", "user_id": "u", "tier": "cold"}, 201
    )
    take_counts(acme.pk)
    agent.post("memory/search", {"query": "harbour", "user_id": "u"})
    flush_access_counts(acme.pk)
    assert agent.post("memory/get", {"id": stored["id"]})["tier"] == "warm"


def test_edges_have_their_commits(filled: Agent, acme: Account) -> None:
    query = {"query_text": "Lisbon trip", "user_id": "u", "limit": 1}
    edges = filled.post("memory/recall_text", query)["subgraph"]["edges"]
    commits = {str(row.pk): str(row.commit_id) for row in makers.rows(MemoryEdge, acme)}
    assert {edge["id"]: edge["commit_id"] for edge in edges} == commits
    assert None not in commits.values()


def test_recall_evaluates_rules_for_a_context(filled: Agent, acme: Account) -> None:
    add_rule(acme, "No curl", "active")
    query = {"query_text": "Lisbon trip", "user_id": "u"}
    assert "rules" not in filled.post("memory/recall_text", query)
    body = {**query, "rules_context": {"intent": "fetch"}}
    rules = filled.post("memory/recall_text", body)["rules"]
    assert [each["summary"] for each in rules["active"]] == ["No curl"]
    assert rules["applied"]["policy"]["tool"]["deny"] == ["curl"]
    same = filled.post("memory/rules/evaluate", {"context": {"intent": "fetch"}, "user_id": "u"})
    assert rules["applied"]["policy"] == same["applied"]["policy"]
    other = {**body, "rules_context": {"intent": "write"}}
    assert filled.post("memory/recall_text", other)["rules"]["active"] == []
    add_rule(acme, "No wget", "shadow")
    for shadow in (False, True):
        rules = filled.post("memory/recall_text", {**body, "rules_include_shadow": shadow})["rules"]
        assert [each["summary"] for each in rules["shadow"]] == ["No wget"] * shadow
    assert (
        filled.post("memory/recall_text", {**query, "rules_context": {}})["rules"]["active"] == []
    )
    answer = makers.agent(acme, ["memory:read"]).post("memory/recall_text", body)
    assert "rules" not in answer
    assert "missing_scope" in {each["code"] for each in answer["decisions"]}
