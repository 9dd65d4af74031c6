"""What requests of mem0 select: never more than they name."""

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from interop.mem0.owner_filters import split_by_owner
from kmapp.accounts.models import Account
from memory.models import MemoryEntry
from tests import makers


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ({"user_id": "ann", "metadata": "{'a': 1}"}, "metadata"),
        ({"user_id": "ann", "session_id": "r1"}, "session_id"),
        ({"user_id": "ann", "run_id": ""}, "run_id"),
        ({"user_id": "ann", "run_id": " "}, "run_id"),
        ({"filters": "{'user_id': 'ann', 'run_id': ' '}"}, "filters"),
    ],
)
def test_deletion_refuses_what_may_select_less(
    agent: Client, acme: Account, query: dict[str, str], path: str
) -> None:
    makers.write(acme, "Tea.", user_id="ann")
    answer = agent.delete("/v1/memories/", query_params=query)
    assert (answer.status_code, answer.json()["issues"][0]["path"]) == (400, path)
    assert makers.get(MemoryEntry, acme).status == "active"
    query = {"user_id": "ann", "source": "CLI", "project_id": str(acme.pk)}
    assert agent.delete("/v1/memories/", query_params=query).json()["count"] == 1


def test_request_id_is_not_that_of_each_native_request(agent: Client, acme: Account) -> None:
    """A proxy may add the ID to requests of scripts, which make several native requests."""
    headers = {"User-Agent": "Python-urllib/3.13", "X-Request-Id": str(uuid4())}
    for text in ("Tea.", "Coffee."):
        makers.write(acme, text, user_id="ann")
        query = {"user_id": "ann"}
        answer = agent.delete("/v1/memories/", query_params=query, headers=headers)
        assert answer.json()["count"] == 1


def test_list_of_owners_keeps_the_other_operators() -> None:
    either: dict[str, Any] = {"user_id": {"in": ["ann", "bob"]}}
    assert split_by_owner(either) == [{"AND": [{"user_id": "ann"}]}, {"AND": [{"user_id": "bob"}]}]
    either["user_id"]["ne"] = "ann"
    other = {"user_id": {"ne": "ann"}}
    assert split_by_owner(either) == [
        {"AND": [{"user_id": "ann"}, other]},
        {"AND": [{"user_id": "bob"}, other]},
    ]
