"""Filters: what each means to rows, and what is refused."""

from typing import Any

import pytest

from kmapp.errors import Invalid
from memory.retrieval.filters import CONDITIONS, DEPTH, condition, fixed_ids
from tests.agent import Agent

MEMORIES: dict[str, dict[str, Any]] = {
    "tea": {
        "tags": ["drink", "hot"],
        "metadata": {"from": "Assam", "cups": 2, "rooms": ["hall"]},
        "importance": 0.9,
        "observed_at": "2026-01-10T00:00:00Z",
    },
    "milk": {"tags": ["drink"], "metadata": {"from": "farm"}, "agent_id": "bot"},
    "Bread 100%": {"kind": "preference", "run_id": "r1", "observed_at": "2026-03-01T00:00:00Z"},
}
CASES: list[tuple[Any, set[str]]] = [
    ({}, {"tea", "milk", "Bread 100%"}),
    ({"kind": "preference"}, {"Bread 100%"}),
    ({"type": {"ne": "preference"}}, {"tea", "milk"}),
    ({"text": {"contains": "EA"}}, set()),
    ({"text": {"icontains": "EA"}}, {"tea", "Bread 100%"}),
    ({"text": {"contains": "0%"}}, {"Bread 100%"}),
    ({"tags": "hot"}, {"tea"}),
    ({"categories": {"contains": "drink"}}, {"tea", "milk"}),
    ({"categories": {"in": ["hot", "cold"]}}, {"tea"}),
    ({"tags": {"ne": "drink"}}, {"Bread 100%"}),
    ({"importance": {"gte": 0.6, "lte": 0.95}}, {"tea"}),
    ({"timestamp": {"gt": "2026-01-10", "lt": "2026-06-01"}}, {"Bread 100%"}),
    ({"timestamp": {"gte": "2026-01-10", "lt": "2026-06-01"}}, {"tea", "Bread 100%"}),
    ({"agent_id": "*"}, {"milk"}),
    ({"agent_id": {"ne": "*"}}, {"tea", "Bread 100%"}),
    ({"agent_id": None}, {"tea", "Bread 100%"}),
    ({"expiration_date": {"lt": "2026-01-01"}}, set()),
    ({"NOT": {"expiration_date": {"lt": "2026-01-01"}}}, {"tea", "milk", "Bread 100%"}),
    ({"metadata": {"from": "farm"}}, {"milk"}),
    ({"metadata": {"from": {"ne": "farm"}}}, {"tea", "Bread 100%"}),
    ({"metadata": {"from": {"contains": "ssa"}}}, {"tea"}),
    ({"metadata": {"rooms": {"contains": "hall"}}}, {"tea"}),
    ({"metadata": {"from": "*"}}, {"tea", "milk"}),
    ({"metadata": {"cups": 2, "from": "Assam"}}, {"tea"}),
    ({"AND": [{"tags": "drink"}, {"tags": "hot"}]}, {"tea"}),
    ({"OR": [{"tags": "hot"}, {"run_id": "r1"}]}, {"tea", "Bread 100%"}),
    ({"NOT": [{"tags": "hot"}, {"run_id": "r1"}]}, {"milk"}),
    # An OR beside an AND counts too.
    ({"AND": [{"tags": "drink"}], "OR": [{"tags": "hot"}, {"run_id": "r1"}]}, {"tea"}),
    ({"tags": "drink", "NOT": {"OR": [{"tags": "hot"}, {"run_id": "r1"}]}}, {"milk"}),
    ({"run_id": ["r1", "r2"]}, {"Bread 100%"}),
    ({"run_id": []}, set()),
    ({"NOT": {"run_id": {"in": []}}}, {"tea", "milk", "Bread 100%"}),
]


def test_filters_select_the_expected_memories(agent: Agent) -> None:
    nodes = [{"text": text, "user_id": "u", **more} for text, more in MEMORIES.items()]
    agent.post("memory/write", {"nodes": nodes}, 201)
    for filters, wanted in CASES:
        listed = agent.post("memory/list", {"user_id": "u", "filters": filters})["results"]
        assert {each["text"] for each in listed} == wanted, filters
    searches: list[tuple[Any, set[str]]] = [
        ({"tags": "drink"}, {"tea", "milk"}),
        ({"id": []}, set()),
    ]
    for filters, wanted in searches:
        asked = {"query": "tea milk bread", "user_id": "u", "filters": filters}
        found = agent.post("memory/search", asked)["results"]
        assert {hit["text"] for hit in found} == wanted


def nested(depth: int) -> Any:
    return {"kind": "fact"} if depth == 1 else {"NOT": nested(depth - 1)}


@pytest.mark.parametrize(
    ("filters", "path"),
    [
        ({"account_id": "x"}, "filters.account_id"),
        ({"status__in": ["rejected"]}, "filters.status__in"),
        ({"user_id": {"nin": ["a"]}}, "filters.user_id"),
        ({"user_id": {"gt": "a"}}, "filters.user_id"),
        ({"user_id": 7}, "filters.user_id"),
        ({"pinned": "yes"}, "filters.pinned"),
        ({"importance": True}, "filters.importance"),
        ({"created_at": "soon"}, "filters.created_at"),
        ({"created_at": "2026-02-31"}, "filters.created_at"),
        ({"id": "x"}, "filters.id"),
        ({"OR": []}, "filters.OR"),
        ({"AND": {"kind": "fact"}}, "filters.AND"),
        ({"AND": [{"OR": [{"x": 1}]}]}, "filters.AND.0.OR.0.x"),
        ({"metadata": "x"}, "filters.metadata"),
        ({"metadata": {"a": {"gt": 1}}}, "filters.metadata.a"),
        (nested(DEPTH + 1), "filters" + ".NOT.0" * DEPTH),
        ({"OR": [{"kind": "fact"}] * (CONDITIONS + 1)}, f"filters.OR.{CONDITIONS}.kind"),
    ],
)
def test_rejects_invalid_filters_with_their_path(filters: Any, path: str) -> None:
    with pytest.raises(Invalid) as refused:
        condition(filters)
    assert refused.value.issues[0]["path"] == path


def test_filters_do_not_show_other_users_memories(agent: Agent) -> None:
    agent.post("memory/store", {"text": "Bob's.", "user_id": "bob"}, 201)
    for filters in ({"OR": [{"user_id": "bob"}, {"user_id": "*"}]}, {"NOT": {"user_id": "ann"}}):
        body = {"user_id": "ann", "filters": filters}
        assert agent.post("memory/list", body)["results"] == []
        assert agent.post("memory/search", {"query": "bob", **body})["results"] == []


ANN = {"user_id": "ann"}


@pytest.mark.parametrize(
    ("filters", "fixed"),
    [
        ({}, {}),
        ({"user_id": "ann", "kind": "fact"}, ANN),
        ({"user_id": {"eq": "ann"}}, ANN),
        ({"user_id": {"eq": "ann", "icontains": "n"}}, ANN),
        ({"AND": [{"user_id": "ann"}, {"session_id": "r"}]}, {**ANN, "run_id": "r"}),
        ({"agent_id": "a", "app_id": "b", "conversation_id": "c"},
         {"agent_id": "a", "app_id": "b", "run_id": "c"}),
        ({"user_id": "ann", "OR": [{"run_id": "r"}, {"run_id": "s"}]}, ANN),
        ({"user_id": "*"}, {}),
        ({"user_id": ""}, {}),
        ({"user_id": None}, {}),
        ({"user_id": 7}, {}),
        ({"user_id": {"ne": "ann"}}, {}),
        ({"user_id": {"contains": "ann"}}, {}),
        ({"user_id": ["ann"]}, {}),
        ({"user_id": {"in": ["ann"]}}, {}),
        ({"OR": [ANN]}, {}),
        ({"NOT": ANN}, {}),
        ({"NOT": [ANN]}, {}),
        ({"AND": [{"OR": [ANN]}, {"NOT": ANN}]}, {}),
        ({"AND": ANN}, {}),
        ({"AND": ["user_id"]}, {}),
        ({"scope": "s", "metadata": {"user_id": "ann"}, "x": "y"}, {}),
    ],
)  # fmt: skip
def test_fixed_ids_reads_only_unambiguous_filters(filters: Any, fixed: dict[str, str]) -> None:
    assert fixed_ids(filters) == fixed
