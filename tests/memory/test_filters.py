"""Filters and pages of memory lists."""

from base64 import urlsafe_b64encode
from itertools import count
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from kmapp.accounts.models import Account
from kmapp.errors import Invalid
from memory.actions.shadow_comparisons import store_observations
from memory.retrieval.filter_expressions import (
    MAX_CONDITIONS,
    MAX_DEPTH,
    extract_owner_ids,
    parse_filter,
)
from tests import makers
from tests.agent import Agent

MEMORIES: dict[str, dict[str, Any]] = {
    "tea": {
        "tags": ["drink", "hot"],
        "metadata": {"from": "Assam", "cups": 2, "rooms": ["hall"]},
        "importance": 0.9,
        "observed_at": "2026-01-10T00:00:00Z",
    },
    "milk": {
        "tags": ["drink"],
        "metadata": {"from": "farm", "7": "days"},
        "agent_id": "bot",
        "client_id": "m",
    },
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
    ({"agent_id": " bot\n"}, {"milk"}),
    ({"agent_id": " "}, set()),
    ({"agent_id": {"ne": "*"}}, {"tea", "Bread 100%"}),
    ({"agent_id": None}, {"tea", "Bread 100%"}),
    ({"client_id": "*"}, {"milk"}),
    ({"client_id": {"ne": "*"}}, {"tea", "Bread 100%"}),
    ({"client_id": None}, {"tea", "Bread 100%"}),
    ({"client_id": {"ne": "m"}}, {"tea", "Bread 100%"}),
    ({"timestamp": {"gt": "2026-01-10T00:00:00+20:00", "lt": "2026-02-01"}}, {"tea"}),
    ({"expiration_date": {"lt": "2026-01-01"}}, set()),
    ({"NOT": {"expiration_date": {"lt": "2026-01-01"}}}, {"tea", "milk", "Bread 100%"}),
    ({"metadata": {"from": "farm"}}, {"milk"}),
    ({"metadata": {"from": {"ne": "farm"}}}, {"tea", "Bread 100%"}),
    ({"metadata": {"from": {"contains": "ssa"}}}, {"tea"}),
    ({"metadata": {"rooms": {"contains": "hall"}}}, {"tea"}),
    ({"metadata": {"7": {"icontains": "DAY"}}}, {"milk"}),
    ({"metadata": {"99999999999": {"contains": "day"}}}, set()),
    ({"NOT": {"metadata": {"from": {"contains": "ssa"}}}}, {"milk", "Bread 100%"}),
    ({"metadata": {"from": "*"}}, {"tea", "milk"}),
    ({"metadata": {"cups": 2, "from": "Assam"}}, {"tea"}),
    ({"AND": [{"tags": "drink"}, {"tags": "hot"}]}, {"tea"}),
    ({"OR": [{"tags": "hot"}, {"run_id": "r1"}]}, {"tea", "Bread 100%"}),
    ({"NOT": [{"tags": "hot"}, {"run_id": "r1"}]}, {"milk"}),
    # An OR next to an AND applies too.
    ({"AND": [{"tags": "drink"}], "OR": [{"tags": "hot"}, {"run_id": "r1"}]}, {"tea"}),
    ({"tags": "drink", "NOT": {"OR": [{"tags": "hot"}, {"run_id": "r1"}]}}, {"milk"}),
    # An object without conditions matches everything.
    ({"NOT": {}}, set()),
    ({"NOT": {"metadata": {}}}, set()),
    ({"OR": [{}, {"tags": "hot"}]}, {"tea", "milk", "Bread 100%"}),
    ({"AND": [{}, {"tags": "hot"}]}, {"tea"}),
    ({"run_id": ["r1", "r2"]}, {"Bread 100%"}),
    ({"run_id": []}, set()),
    ({"NOT": {"run_id": {"in": []}}}, {"tea", "milk", "Bread 100%"}),
]


def test_filters_select_the_expected_memories(agent: Agent) -> None:
    nodes = [{"text": text, "user_id": "u", **more} for text, more in MEMORIES.items()]
    agent.post("memory/write", {"nodes": nodes}, 201)
    for filters, expected in CASES:
        list_results = agent.post("memory/list", {"user_id": "u", "filters": filters})["results"]
        assert {each["text"] for each in list_results} == expected, filters
    searches: list[tuple[Any, set[str]]] = [
        ({"tags": "drink"}, {"tea", "milk"}),
        ({"client_id": None}, {"tea", "Bread 100%"}),
        ({"metadata": {"7": {"icontains": "DAY"}}}, {"milk"}),
        ({"NOT": {"metadata": {"from": {"contains": "ssa"}}}}, {"milk", "Bread 100%"}),
        ({"id": []}, set()),
    ]
    for filters, expected in searches:
        query = {"query": "tea milk bread", "user_id": "u", "filters": filters}
        result = agent.post("memory/search", query)["results"]
        assert {hit["text"] for hit in result} == expected


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
        ({"created_at": "0001-01-01T00:00:00+14:00"}, "filters.created_at"),
        ({"id": "x"}, "filters.id"),
        ({"OR": []}, "filters.OR"),
        ({"AND": {"kind": "fact"}}, "filters.AND"),
        ({"AND": [{"OR": [{"x": 1}]}]}, "filters.AND.0.OR.0.x"),
        ({"metadata": "x"}, "filters.metadata"),
        ({"metadata": {"a": {"gt": 1}}}, "filters.metadata.a"),
        (nested(MAX_DEPTH + 1), "filters" + ".NOT.0" * MAX_DEPTH),
        ({"OR": [{"kind": "fact"}] * (MAX_CONDITIONS + 1)}, f"filters.OR.{MAX_CONDITIONS}.kind"),
    ],
)
def test_rejects_invalid_filters_with_their_path(filters: Any, path: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_filter(filters)
    [issue] = refused.value.issues
    assert issue["path"] == path
    assert str(refused.value) == f"{path}: {issue['message']}"


def test_key_of_metadata_in_a_field_name_is_explained() -> None:
    with pytest.raises(Invalid) as refused:
        parse_filter({"metadata.day": "monday"})
    assert str(refused.value).endswith('send {"metadata": {"day": …}}')


def test_times_without_a_zone_are_in_utc(agent: Agent) -> None:
    memory = {"text": "Tea.", "user_id": "u", "observed_at": "2026-01-30T20:00:00"}
    with timezone.override("Asia/Shanghai"):
        stored = agent.post("memory/store", {**memory, "valid_from": "2026-01-01T00:00:00"}, 201)
        assert stored["observed_at"] == "2026-01-30T20:00:00Z"
        assert stored["valid_from"] == "2026-01-01T00:00:00Z"
        for day, number in (("2026-01-31", 0), ("2026-01-30T20:00:00", 1), ("2026-01-30", 1)):
            body = {"user_id": "u", "filters": {"timestamp": {"gte": day}}}
            assert len(agent.post("memory/list", body)["results"]) == number, day
            query = {"query": "tea", "user_id": "u", "observed_after": f"{day[:10]}T00:00:00"}
            assert len(agent.search(**query)) == number, day


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
        ({"user_id": " ann\n"}, ANN),
        ({"user_id": " "}, {}),
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
    assert extract_owner_ids(filters) == fixed


def test_search_for_an_owner_with_a_long_id_is_not_compared(agent: Agent, acme: Account) -> None:
    [entry] = makers.write(acme, "Ann drinks tea.", user_id="ann")
    makers.learned_ranking(entry)
    for owner in ("u" * 201, "ann"):
        agent.search("tea", filters={"user_id": owner})
    assert store_observations(acme.pk) == 1


@pytest.fixture
def filled(agent: Agent) -> Agent:
    nodes = [
        {
            "text": f"Thing {i}.",
            "client_id": str(i),
            "user_id": "u",
            "tags": [["odd", "even"][i % 2]],
        }
        for i in range(7)
    ]
    agent.post("memory/write", {"nodes": nodes}, 201)
    return agent


def test_pages_cover_all_entries(filled: Agent) -> None:
    seen, cursor = [], None
    for _ in count():
        page = filled.post("memory/list", {"user_id": "u", "limit": 3, "cursor": cursor})
        seen += [each["client_id"] for each in page["results"]]
        cursor = page["next_cursor"]
        if not cursor:
            break
    assert sorted(seen) == [str(i) for i in range(7)]


def test_page_is_stable_during_writes(filled: Agent) -> None:
    first = filled.post("memory/list", {"user_id": "u", "limit": 4})
    filled.post("memory/store", {"text": "Newer.", "user_id": "u"}, 201)
    rest = filled.post("memory/list", {"user_id": "u", "cursor": first["next_cursor"]})
    assert len(rest["results"]) == 3
    assert {each["text"] for each in rest["results"]}.isdisjoint({"Newer."})


def test_list_filters(filled: Agent) -> None:
    pk = filled.post("memory/get", {"client_id": "3"})["id"]
    filled.post("memory/forget", {"client_id": "4"})
    for query, number in (
        ({"tags": ["odd"]}, 3),
        ({"ids": [pk]}, 1),
        ({"client_ids": ["1", "2", "nobody"]}, 2),
        ({"kinds": ["fact"]}, 6),
        ({"kinds": ["skill"]}, 0),
        ({"kind": "skill"}, 0),
        ({"kind": "fact"}, 6),
        ({"type": ["fact", "skill"]}, 6),
        ({"id": pk}, 1),
        ({"status": "forgotten"}, 1),
        ({"status": "active"}, 6),
        ({"pinned": True}, 0),
        ({"pinned": False, "status": "active"}, 6),
    ):
        list_results = filled.post("memory/list", {"user_id": "u", "status": "active", **query})
        assert len(list_results["results"]) == number, query


def test_key_lists_only_the_named_ids(filled: Agent, acme: Account) -> None:
    other = makers.agent(acme, ["memory:read"])
    assert other.post("memory/list", {})["results"] == []
    assert len(other.post("memory/list", {"user_id": "u"})["results"]) == 7
    assert other.post("memory/list", {"user_id": "v"})["results"] == []


def test_filter_narrows_an_admin_list(filled: Agent) -> None:
    content = {"text": "Said in r.", "user_id": "u", "run_id": "r", "visibility": "conversation"}
    filled.post("memory/store", content, 201)
    list_results = filled.post("memory/list", {"filters": {"user_id": "u"}})["results"]
    assert len(list_results) == 8
    assert len(filled.post("memory/list", {"user_id": "u"})["results"]) == 7


def test_rejects_foreign_cursors(agent: Agent) -> None:
    for cursor in ("x", "AAAA", "MjAyNi0wMS0wMSB4", "🍵" * 20, "=" * 99):
        agent.post("memory/list", {"cursor": cursor}, 400)
    for moment in ("2026-01-01T00:00:00+20:00", "2026-01-01T00:00:00"):
        cursor = urlsafe_b64encode(f"{moment} {uuid4()}".encode()).decode()
        agent.post("memory/list", {"cursor": cursor}, 200)
