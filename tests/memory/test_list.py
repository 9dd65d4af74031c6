"""Memories listed page by page."""

from itertools import count

import pytest

from kmapp.accounts.models import Account
from tests import makers
from tests.agent import Agent


@pytest.fixture
def told(agent: Agent) -> Agent:
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


def test_pages_cover_all_entries(told: Agent) -> None:
    seen, cursor = [], None
    for _ in count():
        page = told.post("memory/list", {"user_id": "u", "limit": 3, "cursor": cursor})
        seen += [each["client_id"] for each in page["results"]]
        cursor = page["next_cursor"]
        if not cursor:
            break
    assert sorted(seen) == [str(i) for i in range(7)]


def test_page_is_stable_during_writes(told: Agent) -> None:
    first = told.post("memory/list", {"user_id": "u", "limit": 4})
    told.post("memory/store", {"text": "Newer.", "user_id": "u"}, 201)
    rest = told.post("memory/list", {"user_id": "u", "cursor": first["next_cursor"]})
    assert len(rest["results"]) == 3
    assert {each["text"] for each in rest["results"]}.isdisjoint({"Newer."})


def test_list_filters(told: Agent) -> None:
    pk = told.post("memory/get", {"client_id": "3"})["id"]
    told.post("memory/forget", {"client_id": "4"})
    for asked, number in (
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
        listed = told.post("memory/list", {"user_id": "u", "status": "active", **asked})
        assert len(listed["results"]) == number, asked


def test_key_lists_only_the_named_ids(told: Agent, acme: Account) -> None:
    other = makers.agent(acme, ["memory:read"])
    assert other.post("memory/list", {})["results"] == []
    assert len(other.post("memory/list", {"user_id": "u"})["results"]) == 7
    assert other.post("memory/list", {"user_id": "v"})["results"] == []


def test_filter_narrows_an_admin_list(told: Agent) -> None:
    said = {"text": "Said in r.", "user_id": "u", "run_id": "r", "visibility": "conversation"}
    told.post("memory/store", said, 201)
    listed = told.post("memory/list", {"filters": {"user_id": "u"}})["results"]
    assert len(listed) == 8
    assert len(told.post("memory/list", {"user_id": "u"})["results"]) == 7


@pytest.mark.parametrize("cursor", ["x", "AAAA", "MjAyNi0wMS0wMSB4", "🍵" * 20, "=" * 99])
def test_rejects_foreign_cursors(agent: Agent, cursor: str) -> None:
    agent.post("memory/list", {"cursor": cursor}, 400)
