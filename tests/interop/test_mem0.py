"""The official Python client of mem0, unmodified, against a running server."""

from typing import Any

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from memory.models import MemoryEntry
from tests.interop.conftest import Run

REFUSALS = {
    "get": ("MemoryNotFoundError", "not found"),
    "get_bad_id": ("MemoryNotFoundError", "Not found"),
    "add_without_owner": ("ValidationError", "user_id"),
    "search_without_owner": ("ValidationError", "user_id"),
    "unknown_filter": ("ValidationError", "filter"),
    "summary": ("MemoryError", "does not summarise"),
    "webhooks": ("MemoryError", "does not send webhooks"),
}


def texts(answer: dict[str, Any]) -> list[str]:
    return [each["memory"] for each in answer["results"]]


def test_python_client(run_client: Run, acme: Account) -> None:
    seen = run_client("mem0_client.py")
    assert (seen["org_id"], seen["project_id"]) == (acme.slug, str(acme.pk))
    assert seen["add"]["status"] == "SUCCEEDED"
    assert seen["add"]["results"][0]["data"] == {"memory": "I am allergic to peanuts."}
    assert seen["add_inferred"]["event_id"] == seen["event"]["id"]
    assert seen["event"]["status"] == "PENDING"
    assert texts(seen["search"])[0] == "I am allergic to peanuts."
    assert 0 < seen["search"]["results"][0]["score"] <= 1
    assert {"I am allergic to peanuts.", "The planner prefers short trips."} <= set(
        texts(seen["search_either"])
    )
    assert seen["get_all"]["count"] == 4
    assert len(seen["get_all"]["results"]) == 2
    assert seen["get_all"]["next"]
    assert len(texts(seen["get_all_everyone"])) == 5
    assert seen["get"]["user_id"] == "ann"
    assert seen["update"]["memory"] == "I am allergic to nuts."
    assert seen["update"]["metadata"] == {"kind": "health"}
    assert [each["event"] for each in seen["history"]] == ["ADD", "UPDATE"]
    assert seen["history"][1]["old_memory"] == "I am allergic to peanuts."
    users = {(each["type"], each["name"]) for each in seen["users"]["results"]}
    assert users == {("user", "ann"), ("user", "bob"), ("agent", "planner"), ("run", "r1")}
    assert seen["feedback"]["feedback"] == "POSITIVE"
    assert [each["memory"] for each in seen["exported"]["memories"]] == ["Bob likes tea."]
    assert seen["project"]["name"] == "Acme"
    assert seen["project_updated"]["custom_instructions"] == "Remember the names of pets."
    assert seen["after_batch"]["memory"] == "No nuts."
    assert "No nuts." not in texts(seen["after_delete"])
    assert [each["count"] for each in seen["get_all_after"]] == [0, 0]
    found, listed, left = seen["async"]
    assert texts(found) == texts(listed) == ["Zoe rides a bicycle."]
    assert left["count"] == 0
    with acting(acme):
        bob = MemoryEntry.objects.of(acme.pk).get(user_id="bob")
    assert bob.status == MemoryEntry.Status.FORGOTTEN
    assert bob.observed_at.year == 2023
    for operation, (error, words) in REFUSALS.items():
        name, message = seen["refusals"][operation]
        assert name == error, operation
        assert words in message
