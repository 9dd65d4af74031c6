"""Erasure removes every copy of a text, and the ledger still verifies."""

import io
from importlib import import_module
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.ledger.models import Commit
from kmapp.search.models import Vector
from memory.actions import bulk_review
from memory.models import BulkRun, ErasedEntry, Extraction, MemoryEntry
from memory.models.entries import CONTEXT_COLLECTION
from tests import makers
from tests.agent import Agent
from tests.full_account import account_tables

MARK = "quetzalmarker"


def count_rows_with(account: Account, *words: str) -> dict[str, int]:
    """Return the tables that contain one of these words, with the number of such rows."""
    result = {}
    with acting(account), connection.cursor() as cursor:
        for table, column in account_tables().items():
            cursor.execute(
                f"SELECT count(*) FROM {table} t WHERE {column} = %s "  # noqa: S608
                "AND lower(t::text) LIKE ANY (%s)",
                [account.pk, [f"%{word.lower()}%" for word in words]],
            )
            if number := cursor.fetchone()[0]:
                result[table] = number
    return result


@pytest.fixture
def run(agent: Agent) -> list[str]:
    """Three turns of a run; the second contains the marker in every field."""
    nodes = [
        {"text": "The kettle is on.", "run_id": "r", "user_id": "u"},
        {
            "text": f"My word is {MARK} one.",
            "title": f"{MARK} two",
            "metadata": {"said": f"{MARK} three"},
            "tags": [f"{MARK}-tag"],
            "entities": [f"{MARK} Ltd"],
            "sources": [{"quote": f"{MARK} four"}],
            "raw_ref": f"file:{MARK}",
            "client_id": "secret-1",
            "run_id": "r",
            "user_id": "u",
        },
        {"text": "The tea is ready.", "run_id": "r", "user_id": "u"},
    ]
    text = {"nodes": nodes, "input_text": f"They said {MARK} five."}
    written = agent.post("memory/write", text, 201, **{"Idempotency-Key": "k1"})
    ids = [node["id"] for node in written["nodes"]]
    change = {"id": ids[1], "text": f"{MARK} six.", "reason": f"{MARK} seven"}
    agent.post("memory/update", change, 200, **{"Idempotency-Key": "k2"})
    rated = {"id": ids[1], "outcome": "positive", "reason": f"{MARK} eight"}
    agent.post("memory/feedback", rated, 201)
    makers.settle()
    return ids


def context_of(account: Account, pk: str) -> list[str]:
    with acting(account):
        rows = Vector.objects.of(account).filter(collection=CONTEXT_COLLECTION, object_id=pk)
        return [row.text_sha256 for row in rows]


def test_erasure_removes_every_copy(
    committed: str, agent: Agent, acme: Account, run: list[str]
) -> None:
    [before] = context_of(acme, run[2])
    assert {
        "memory_memoryentry",
        "memory_memoryversion",
        "ledger_note",
        "search_indexeddocument",
    } <= (count_rows_with(acme, MARK).keys())
    done = agent.erase(ids=[run[1]], reason="asked by the person")
    assert done["count"] == 1
    assert count_rows_with(acme, MARK) == {}
    assert (
        context_of(acme, run[2]) == []
    )  # removed at once: it was computed from the preceding text
    makers.settle()
    assert count_rows_with(acme, MARK) == {}
    [after] = context_of(acme, run[2])
    assert after != before
    with acting(acme):
        assert not Vector.objects.of(acme).filter(object_id=run[1]).exists()
        commit = Commit.objects.of(acme).get(pk=done["commit_id"])
        assert {change["op"] for change in commit.diff} == {"ERASE"}
    makers.check_ledger()
    assert agent.get("memory/verify")["ok"]
    assert [hit["id"] for hit in agent.post("memory/search", {"query": MARK})["results"]] == []
    # The other turns of the run are still found.
    result = agent.post("memory/search", {"query": "tea ready", "user_id": "u", "run_id": "r"})
    assert run[2] in {hit["id"] for hit in result["results"]}


def test_erasure_removes_the_reason_of_a_bulk_run(
    agent: Agent, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_review, "PART_SIZE", 2)
    texts = [{"text": f"Box {n} is full.", "visibility": "account"} for n in range(5)]
    nodes = agent.post("memory/write", {"nodes": texts}, 201)["nodes"]
    with acting(acme):
        chosen = [(UUID(node["id"]), 1) for node in nodes]
        bulk_review.start_run(
            acme.pk, SYSTEM, BulkRun.Operation.REJECT, chosen, f"{MARK} filled these"
        )
    makers.settle()
    assert {"memory_bulkrun", "memory_memoryversion"} <= count_rows_with(acme, MARK).keys()
    agent.erase(ids=[nodes[4]["id"]])
    assert count_rows_with(acme, MARK) == {}


def test_erased_memory_reserves_its_client_id(agent: Agent, run: list[str]) -> None:
    agent.erase(client_ids=["secret-1"])
    node = {"text": "Another.", "client_id": "secret-1", "user_id": "u"}
    assert agent.post("memory/write", {"nodes": [node]}, 410)["error"] == "client_id_erased"
    for which in ({"id": run[1]}, {"client_id": "secret-1"}):
        agent.post("memory/get", which, 410)
        agent.post("memory/forget", which, 410)
        agent.post("memory/update", {**which, "text": "Again."}, 410)
    agent.post("memory/erase", {"ids": [run[1]]}, 410)
    # A retry of the first write states that its response was erased.
    agent.post("memory/write", {"nodes": [node]}, 410, **{"Idempotency-Key": "k1"})


def test_imported_client_id_stays_reserved(agent: Agent, tmp_path: Any) -> None:
    line = (
        '{"object":"entry","id":"0199aaaa-0000-7000-8000-000000000001","client_id":"c","text":"x"}'
    )
    (tmp_path / "in.jsonl").write_text(line + "\n")
    call_command("memories", "import", str(tmp_path / "in.jsonl"), stdout=io.StringIO())
    agent.erase(client_ids=["c"])
    agent.post("memory/store", {"text": "y", "client_id": "c"}, 410)


def test_user_erasure_needs_the_confirmed_count(agent: Agent, acme: Account) -> None:
    nodes = [{"text": f"Ada said {n}.", "user_id": "ada"} for n in range(3)]
    agent.post("memory/write", {"nodes": [*nodes, {"text": "Ben.", "user_id": "ben"}]}, 201)
    counted = agent.post("memory/erase", {"user_id": "ada"})
    assert (counted["count"], counted["goes"]["versions"]) == (3, 3)
    agent.post("memory/store", {"text": "One more.", "user_id": "ada"}, 201)
    late = {"user_id": "ada", "confirm_token": counted["confirm_token"]}
    assert agent.post("memory/erase", late, 409)["error"] == "count_changed"
    other = {"user_id": "ben", "confirm_token": counted["confirm_token"]}
    assert agent.post("memory/erase", other, 409)["error"] == "count_changed"
    assert agent.erase(user_id="ada")["count"] == 4
    with acting(acme):
        assert [e.user_id for e in MemoryEntry.objects.of(acme)] == ["ben"]
        assert ErasedEntry.objects.of(acme).count() == 4


def test_user_without_memories_is_erased_with_their_conversations(
    agent: Agent, acme: Account
) -> None:
    now = timezone.now()
    with acting(acme):
        for user in ("ada", "ben"):
            Extraction.objects.create(
                account=acme,
                kind=Extraction.Kind.CONVERSATION,
                actor=str(SYSTEM),
                user_id=user,
                said={"messages": [{"role": "user", "text": f"I am {user}."}]},
                observed_at=now,
                created_at=now,
            )
    done = agent.erase(user_id="ada")
    assert (done["count"], done["goes"]["kept_elsewhere"]) == (0, 1)
    assert [row.user_id for row in makers.rows(Extraction, acme)] == ["ben"]
    assert agent.post("memory/erase", {"user_id": "ada"}, 404)["error"] == "not_found"


def test_rejects_an_erasure_without_selection(agent: Agent) -> None:
    selections: list[dict[str, Any]] = [{}, {"scope": "s"}, {"ids": []}, {"reason": "all"}]
    for which in selections:
        agent.post("memory/erase", which, 400)


def test_erasure_needs_scope_and_own_token(agent: Agent, acme: Account, rival: Account) -> None:
    pk = agent.post("memory/store", {"text": "Mine.", "user_id": "u"}, 201)["id"]
    writer = makers.agent(acme, ["memory:read", "memory:write"])
    writer.post("memory/erase", {"ids": [pk]}, 403)
    eraser = makers.agent(acme, ["memory:erase"])
    token = agent.post("memory/erase", {"ids": [pk]})["confirm_token"]
    eraser.post("memory/erase", {"ids": [pk], "confirm_token": token}, 400)
    eraser.post("memory/erase", {"ids": [pk], "confirm_token": "made-up"}, 400)
    stranger = makers.agent(rival)
    stranger.post("memory/erase", {"ids": [pk], "confirm_token": token}, 404)
    assert agent.post("memory/get", {"id": pk})["text"] == "Mine."


def field(page: str, name: str) -> str:
    return page.partition(f'name="{name}" value="')[2].partition('"')[0]


def test_page_needs_a_typed_count(
    admin: Client, agent: Agent, acme: Account, run: list[str]
) -> None:
    address = f"/memory/erase/?id={run[1]}"
    page = admin.get(address).content.decode()
    assert "Permanently erase 1 memory?" in page
    form = {"ticket": field(page, "ticket"), "count": "1", "typed": "erase"}
    refused = admin.post(address, form)
    assert refused.status_code == 422
    assert "Nothing was erased" in refused.content.decode()
    done = admin.post(address, {**form, "typed": " Erase  1 "})
    assert done.status_code == 302
    assert "/ledger/" in done.headers["Location"]
    removed = admin.get(f"/memory/{run[1]}/")
    assert removed.status_code == 410
    assert "This memory was erased" in removed.content.decode()
    assert count_rows_with(acme, MARK) == {}
    with acting(acme):
        name = f"memory.memoryentry:{run[1]}"
        named = Commit.objects.of(acme).filter(diff__contains=[{"object": name}]).order_by("seq")
        assert [each.pk for each in removed.context["commits"]] == [each.pk for each in named]
        assert len(named) >= 3, "written, changed, erased"


def test_commits_of_an_erased_memory_are_stored_with_it(
    admin: Client, agent: Agent, acme: Account, run: list[str]
) -> None:
    agent.erase(ids=[run[1]])
    with CaptureQueriesContext(connection) as query:
        assert admin.get(f"/memory/{run[1]}/").status_code == 410
    scans = [each["sql"] for each in query if "@>" in each["sql"]]
    assert not [sql for sql in scans if "ledger_" in sql]
    # The migration adds the commits of memories that an older release erased.
    existing = import_module("memory.migrations.0003_later_indexes").KNOWN_COMMITS
    with acting(acme), connection.cursor() as cursor:
        before = ErasedEntry.objects.get(pk=run[1]).commits
        assert before
        ErasedEntry.objects.of(acme).update(commits=[])
        cursor.execute(existing.replace("%", "%%"))
        assert ErasedEntry.objects.get(pk=run[1]).commits == before


def test_page_erases_filtered_entries(admin: Client, agent: Agent, acme: Account) -> None:
    texts = ("The kettle is on.", "The cups are warm.", "The tea is ready.")
    agent.write(*texts, user_id="u", run_id="r")
    for nothing in ("/memory/erase/", "/memory/erase/?sort=created_at", "/memory/erase/?kind=odd"):
        assert admin.get(nothing).status_code == 400
    page = admin.get("/memory/erase/?user_id=u").content.decode()
    form = {"ticket": field(page, "ticket"), "count": "3", "typed": "erase 3"}
    assert admin.post("/memory/erase/?user_id=u&kind=event", form).status_code == 404
    assert admin.post("/memory/erase/?user_id=u", form).status_code == 302
    assert not makers.rows(MemoryEntry, acme)


def test_reviewer_cannot_erase(reviewer: Client, agent: Agent) -> None:
    pk = agent.store("The kettle is on.", user_id="u")
    address = f"/memory/erase/?id={pk}"
    assert reviewer.get(address).status_code == 403
    assert reviewer.post(address, {"typed": "erase 1", "count": "1"}).status_code == 403
    assert "/memory/erase/" not in reviewer.get(f"/memory/{pk}/").content.decode()
