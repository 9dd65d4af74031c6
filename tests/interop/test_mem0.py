"""The official Python client of mem0, unmodified, against a running server."""

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from interop.mem0 import exports, memories, serialize
from interop.mem0.owner_filters import split_by_owner
from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.errors import Invalid
from memory.actions import review
from memory.models import MemoryEntry
from tests import makers
from tests.fake_provider import FakeProvider
from tests.interop.conftest import NODE, NODE_PACKAGES, PYTHON, Run
from tests.memory.chat_model import configure_chat, fact, run_due_jobs, scripted_reply
from tests.webhook_receiver import receive_webhooks

REFUSALS = {
    "get": ("MemoryNotFoundError", "not found"),
    "get_bad_id": ("MemoryNotFoundError", "Not found"),
    "add_without_owner": ("ValidationError", "user_id"),
    "search_without_owner": ("ValidationError", "user_id"),
    "unknown_filter": ("ValidationError", "filter"),
    "summary": ("MemoryError", "does not summarise"),
}


def texts(answer: dict[str, Any]) -> list[str]:
    return [each["memory"] for each in answer["results"]]


def test_python_client(run_client: Run, acme: Account, settings: Settings) -> None:
    settings.WEBHOOK_HOSTS = ["hooks.test"]
    seen = run_client("mem0_client.py")
    assert (seen["org_id"], seen["project_id"]) == (acme.slug, str(acme.pk))
    assert seen["add"]["status"] == "SUCCEEDED"
    assert seen["add"]["results"][0]["data"] == {"memory": "I am allergic to peanuts."}
    assert seen["add_inferred"]["event_id"] == seen["event"]["id"]
    assert seen["event"]["status"] == "PENDING"
    assert seen["expires"] == ["2099-12-30", "2099-12-31", "2099-12-31", None]
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
    assert seen["webhook"]["event_types"] == ["memory_add"]
    assert seen["webhook"]["project"] == str(acme.pk)
    [webhook] = seen["webhooks"]
    assert (webhook["name"], webhook["event_types"]) == ("Logger", ["memory_delete"])
    assert "secret" not in webhook
    assert seen["webhooks_after"] == []
    assert (seen["dated"], seen["category"]) == ([4, 0, 0], [1, 0])
    assert seen["after_batch"]["memory"] == "No nuts."
    assert seen["get_deleted"][0] == "MemoryNotFoundError"
    exported = [each["memory"] for each in seen["exported_deleted"]]
    assert len(exported) == 3
    assert "No nuts." not in exported
    assert "No nuts." not in texts(seen["after_delete"])
    assert [each["count"] for each in seen["get_all_after"]] == [0, 0]
    results, list_results, left = seen["async"]
    assert texts(results) == texts(list_results) == ["Zoe rides a bicycle."]
    assert left["count"] == 0
    with acting(acme):
        bob = MemoryEntry.objects.of(acme.pk).get(user_id="bob")
    assert bob.status == MemoryEntry.Status.FORGOTTEN
    assert bob.observed_at.year == 2023
    for operation, (error, words) in REFUSALS.items():
        name, message = seen["refusals"][operation]
        assert name == error, operation
        assert words in message


def test_client_for_node(run_client: Run, settings: Settings) -> None:
    settings.WEBHOOK_HOSTS = ["hooks.test"]
    seen = run_client("mem0_client.mjs", str(NODE_PACKAGES))
    memory_id = seen["add"]["results"][0]["id"]
    assert seen["add"]["status"] == "SUCCEEDED"
    assert seen["inferred"]["status"] == "PENDING"
    assert seen["inferred"]["eventId"]
    assert [hit["id"] for hit in seen["search"]["results"]] == [memory_id]
    assert (seen["getAll"]["count"], len(seen["getAll"]["results"])) == (2, 1)
    assert "page=2" in seen["getAll"]["next"]
    assert seen["get"]["memory"] == "Ann is allergic to peanuts."
    assert seen["update"]["memory"] == "Ann may eat no nuts at all."
    assert [change["event"] for change in seen["history"]] == ["ADD", "UPDATE"]
    assert seen["batch"]["message"] == "Successfully updated 1 memories"
    assert seen["feedback"]["feedback"] == "POSITIVE"
    assert [user["name"] for user in seen["users"]["results"]] == ["ann"]
    assert seen["project"]["name"] == "Acme"
    assert seen["exported"]["id"]
    assert [each["name"] for each in seen["webhooks"]] == ["Logger"]
    assert "404" in seen["missing"]
    assert seen["delete"]["message"] == "Memory deleted successfully!"
    assert seen["deleteAll"]["count"] == 1
    assert seen["after"]["results"] == []


@pytest.mark.parametrize(
    "program",
    [[PYTHON.with_name("mem0")], [NODE, NODE_PACKAGES / "node_modules" / ".bin" / "mem0"]],
    ids=["python", "node"],
)
def test_command_line(run_client: Run, program: list[Path]) -> None:
    seen = run_client("mem0_commands.py", *map(str, program))
    assert seen["status"]["data"]["connected"] is True
    assert [each["id"] for each in seen["search"]["data"]] == [seen["id"]]
    assert [each["id"] for each in seen["list"]["data"]] == [seen["id"]]
    assert seen["get"]["data"]["id"] == seen["id"]
    assert seen["update"]["data"]["memory"] == "Bob likes black tea."
    assert "bob" in [each["name"] for each in seen["entities"]["data"]]
    assert seen["events"]["status"] == "success"
    assert seen["infer"]["data"][0]["memory"] == "Eve plays the cello."
    assert seen["delete"]["data"]["deleted"] is True
    assert seen["delete_all"]["status"] == "success"
    assert seen["after"]["count"] == 0


def test_an_event_has_the_text_of_its_memories(
    agent: Client, settings: Settings, provider: FakeProvider
) -> None:
    configure_chat(settings, provider)
    provider.become(reply=scripted_reply([fact("Eve plays the cello.")]))
    body = {"messages": "I play the cello.", "user_id": "eve"}
    added = agent.post("/v3/memories/add/", body, "application/json").json()
    run_due_jobs()
    event = agent.get(f"/v1/event/{added['event_id']}/").json()
    assert event["status"] == "SUCCEEDED"
    [result] = event["results"]
    assert (result["event"], result["data"]) == ("ADD", {"memory": "Eve plays the cello."})


def test_a_page_of_owners_reads_no_other_owners(agent: Client, acme: Account) -> None:
    names = {"user": ["ann", "bob", "eve"], "agent": ["bot"], "run": ["r1", "r2"]}
    for kind, owners in names.items():
        for name in owners:
            owner: dict[str, Any] = {f"{kind}_id": name}
            makers.write(acme, "Tea.", "Milk.", **owner)
    expected = [(kind, name) for kind, owners in names.items() for name in owners]
    listed = []
    for number in range(1, 5):
        with CaptureQueriesContext(connection) as queries:
            page = agent.get("/v1/entities/", {"page": number, "page_size": 2}).json()
        entries = [each["sql"] for each in queries if "memory_memoryentry" in each["sql"]]
        groups = [sql for sql in entries if "GROUP BY" in sql]
        assert len(groups) <= 2
        assert all(" LIMIT " in sql for sql in groups)
        assert (page["count"], page["next"] is None) == (6, number >= 3)
        totals = [page[f"total_{kind}s"] for kind in ("user", "agent", "app", "run")]
        assert totals == [3, 1, 0, 2]
        assert {each["total_memories"] for each in page["results"]} <= {2}
        listed.append([(each["type"], each["name"]) for each in page["results"]])
    assert listed == [expected[:2], expected[2:4], expected[4:], []]


@pytest.mark.parametrize(
    "parts",
    [
        [{"OR": [{"kind": "fact"}]}] * 2_000,
        [*[{"OR": [{"kind": "fact"}, {"kind": "event"}]}] * 40, {"OR": []}],
    ],
    ids=["deep", "many"],
)
def test_filters_with_too_many_alternatives_are_refused(parts: list[Any]) -> None:
    with pytest.raises(Invalid, match=r"too many alternatives|more than 50 conditions"):
        split_by_owner({"AND": parts})


def test_a_batch_that_fails_states_what_was_changed(agent: Client, acme: Account) -> None:
    first, last = makers.write(acme, "Tea.", "Milk.", user_id="ann")
    unknown = "0190a7a0-0000-7000-8000-000000000000"
    batch = [{"memory_id": str(pk), "text": "Water."} for pk in (first.pk, unknown, last.pk)]
    answer = agent.put("/v1/batch/", {"memories": batch}, "application/json")
    assert answer.status_code == 404
    assert answer.json()["detail"] == answer.json()["message"]
    assert answer.json()["detail"].startswith("memories.1: Memory not found. The 1 before it were")
    assert {entry.content for entry in makers.rows(MemoryEntry, acme)} == {"Water.", "Milk."}
    batch[1] = {**batch[0], "expiration_date": "soon"}
    answer = agent.put("/v1/batch/", {"memories": batch[1:]}, "application/json")
    assert (answer.status_code, answer.json()["issues"][0]["path"]) == (400, "expiration_date")
    assert makers.count(MemoryEntry, acme, content="Milk.") == 1


def test_a_memory_expires_from_its_first_version(agent: Client, acme: Account) -> None:
    body = {"messages": "Ann visits Oslo.", "user_id": "ann", "expiration_date": "2099-12-30"}
    for infer in (False, True):
        answer = agent.post("/v3/memories/add/", {**body, "infer": infer}, "application/json")
        assert answer.status_code == 200
    rows = makers.rows(MemoryEntry, acme)
    expected = [(1, serialize.to_expiry("2099-12-30"))] * 2
    assert [(entry.version, entry.expires_at) for entry in rows] == expected


def test_a_key_with_another_expiration_date_is_a_conflict(agent: Client) -> None:
    body = {"messages": "Ann visits Oslo.", "user_id": "ann"}
    for day, status in (("2099-12-30", 200), ("2099-12-30", 200), ("2099-12-31", 409)):
        dated, key = {**body, "expiration_date": day}, {"Idempotency-Key": "k1"}
        answer = agent.post("/v3/memories/add/", dated, "application/json", headers=key)
        assert answer.status_code == status, day


def test_a_blank_owner_is_no_owner(agent: Client, acme: Account) -> None:
    body = {"messages": "Ann likes tea.", "user_id": " ", "infer": False}
    answer = agent.post("/v3/memories/add/", body, "application/json")
    assert (answer.status_code, answer.json()["issues"][0]["path"]) == (400, "user_id")
    assert makers.count(MemoryEntry, acme) == 0


def test_settings_of_a_project_without_a_counterpart_are_ignored(
    agent: Client, acme: Account
) -> None:
    body = {"custom_instructions": "Be brief.", "project_id": str(acme.pk), "decay": True}
    path, strict = f"/api/v1/orgs/organizations/o/projects/{acme.pk}/", {"X-KM-Strict": "1"}
    answer = agent.patch(path, {**body, "org_id": "acme"}, "application/json", headers=strict)
    assert (answer.status_code, answer.json()["custom_instructions"]) == (200, "Be brief.")
    assert "warnings" not in answer.json()


BOTH = {"OR": [{"user_id": "ann"}, {"user_id": "bob"}]}


def test_search_of_several_owners_accepts_a_limit_of_1_0_and_a_large_one(
    agent: Client, acme: Account
) -> None:
    for name in ("ann", "bob"):
        makers.write(acme, "Tea.", user_id=name)
    for top_k, number in ((1.0, 1), (5_000, 2)):
        body = {"query": "tea", "filters": BOTH, "top_k": top_k, "threshold": 0}
        answer = agent.post("/v3/memories/search/", body, "application/json")
        assert (answer.status_code, texts(answer.json())) == (200, ["Tea."] * number)


def test_limit_of_an_export_is_for_all_owners(
    agent: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ann", "bob"):
        makers.write(acme, "Tea.", "Milk.", user_id=name)
    for number, status in ((4, 200), (3, 400)):
        monkeypatch.setattr(exports, "MAX_EXPORTED", number)
        answer = agent.post("/v1/exports/get/", {"filters": BOTH}, "application/json")
        assert answer.status_code == status, answer.content


def test_history_has_the_newest_versions(
    agent: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    [entry] = makers.write(acme, "Tea 0.", user_id="ann")
    with acting(acme):
        for number in range(1, 5):
            review.edit(makers.decision(entry), {"content": f"Tea {number}."})

    def read_texts() -> list[str]:
        history = agent.get(f"/v1/memories/{entry.pk}/history/").json()
        return [each["new_memory"] for each in history]

    monkeypatch.setattr(memories, "VERSIONS_PAGE", 2)
    assert read_texts() == [f"Tea {number}." for number in range(5)]
    monkeypatch.setattr(memories, "MAX_VERSIONS", 3)
    assert read_texts() == ["Tea 2.", "Tea 3.", "Tea 4."]


def test_webhooks_send_the_payload_of_mem0(
    agent: Client, acme: Account, settings: Settings
) -> None:
    with receive_webhooks() as receiver:
        settings.WEBHOOK_PRIVATE = [receiver.netloc]
        hook = {"name": "Log", "url": receiver.url}
        created = agent.post(f"/api/v1/webhooks/projects/{acme.pk}/", hook, "application/json")
        assert created.status_code == 201
        body = {"messages": "Ann likes tea.", "user_id": "ann", "infer": False}
        added = agent.post("/v3/memories/add/", body, "application/json").json()
        makers.settle()
    details = {
        "id": added["results"][0]["id"],
        "data": {"memory": "Ann likes tea."},
        "event": "ADD",
    }
    assert receiver.bodies() == [{"event_details": details}]
