"""Writing memories and recognising repeated ones."""

from typing import Any
from uuid import uuid4, uuid5

from django.conf import settings
from django.test import override_settings

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.ledger.models import Commit
from memory.models import MemoryEntry
from memory.models.entry_input import NewEntry
from tests import makers
from tests.agent import Agent

NODE = {
    "client_id": "c1",
    "type": "event",
    "text_summary": "Lin likes oolong tea.",
    "user_id": "u1",
}


def test_batch_is_one_commit(agent: Agent) -> None:
    body = {
        "input_text": "a talk",
        "nodes": [NODE, {**NODE, "client_id": "c2", "text_summary": "林喜欢乌龙茶。"}],
        "edges": [{"type": "related_to", "src": {"client_id": "c1"}, "dst": {"client_id": "c2"}}],
    }
    got = agent.post("memory/write", body, 201)
    assert [node["client_id"] for node in got["nodes"]] == ["c1", "c2"]
    assert got["edges"][0]["src_id"] == got["nodes"][0]["id"]
    assert len(got["commit_hash"]) == 64
    backfill = got["embedding_backfill"]
    assert (backfill["enqueued"], backfill["pending_nodes"]) == (True, 2)
    assert len(set(backfill["event_ids"])) == 2


def test_client_id_names_one_body(agent: Agent) -> None:
    first = agent.post("memory/write", {"nodes": [NODE]}, 201)
    again = agent.post("memory/write", {"nodes": [NODE]}, 200)
    assert again["nodes"] == first["nodes"]
    assert again["commit_id"] == first["commit_id"]
    got = agent.post("memory/write", {"nodes": [{**NODE, "text_summary": "Tea? No."}]}, 409)
    assert got["error"] == "client_id_conflict"
    assert got["issues"][0]["path"] == "nodes.0.client_id"


OWNER_FIELDS = ("user_id", "agent_id", "app_id", "run_id", "visibility")


# The values of the batch, those of its node, and what is stored.
DEFAULTS: list[tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]] = [
    ({"user_id": "ann"}, {}, ("ann", "", "", "", "user")),
    ({"run_id": "r", "app_id": "a"}, {}, ("", "", "a", "r", "conversation")),
    ({"session_id": "r"}, {}, ("", "", "", "r", "conversation")),
    ({"conversation_id": "r"}, {"session_id": "s"}, ("", "", "", "s", "conversation")),
    ({"consumer_agent_id": "bot"}, {"user_id": "ann"}, ("ann", "bot", "", "", "user")),
    ({"agent_id": "bot"}, {"consumer_agent_id": "bee"}, ("", "bee", "", "", "user")),
    ({"user_id": "ann"}, {"user_id": "bob"}, ("bob", "", "", "", "user")),
    ({"user_id": "ann"}, {"user_id": None, "agent_id": " "}, ("ann", "", "", "", "user")),
    ({"user_id": "ann", "visibility": "conversation"}, {"run_id": "r"},
     ("ann", "", "", "r", "conversation")),
    ({"visibility": "conversation", "run_id": "r"}, {"visibility": "account"},
     ("", "", "", "r", "account")),
    # A lane applies only to nodes without an owner.
    ({"memory_lane": "private", "user_id": "ann", "owner_agent_id": "bot"}, {},
     ("ann", "", "", "", "user")),
    ({"memory_lane": "private", "run_id": "r", "owner_agent_id": "bot"}, {},
     ("", "bot", "", "r", "user")),
]  # fmt: skip


def test_batch_values_are_defaults_for_nodes(agent: Agent, acme: Account) -> None:
    for number, (of_all, node, saved) in enumerate(DEFAULTS):
        text = {"client_id": f"c{number}", "text": "The lamp is lit.", **node}
        body = {**of_all, "nodes": [text]}
        first = agent.post("memory/write", body, 201)
        with acting(acme):
            rows = MemoryEntry.objects.values_list(*OWNER_FIELDS)
            assert rows.get(client_id=f"c{number}") == saved, body
        assert agent.post("memory/write", body, 200)["nodes"] == first["nodes"], body
        other = agent.post("memory/write", {**body, "app_id": "another"}, 409)
        assert other["error"] == "client_id_conflict", body


def test_invalid_defaults_are_reported_on_the_node(agent: Agent) -> None:
    invalid: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({"visibility": "conversation"}, {}, "nodes.0.run_id"),
        ({"visibility": "user", "run_id": "r"}, {}, "nodes.0.user_id"),
        ({"run_id": "r"}, {"visibility": "user"}, "nodes.0.user_id"),
        ({"user_id": "u" * 201}, {}, "user_id"),
        ({"session_id": 7}, {}, "session_id"),
        ({"visibility": "everyone"}, {}, "visibility"),
        ({"user_id": "ann"}, {"user_id": 7}, "nodes.0.user_id"),
    ]
    for of_all, node, path in invalid:
        body = {**of_all, "nodes": [{"text": "The lamp is lit.", **node}]}
        refused = agent.post("memory/write", body, 400)
        assert [issue["path"] for issue in refused["issues"]] == [path], body


def test_same_effective_values_are_the_same_write(agent: Agent) -> None:
    text = {"client_id": "a", "text": "The lamp is lit."}
    ann = {"user_id": "ann", "session_id": "r", "visibility": "conversation"}
    agent.post("memory/write", {"nodes": [{**text, **ann}]}, 201)
    agent.post("memory/write", {**ann, "nodes": [text]}, 200)
    agent.post("memory/write", {**ann, "user_id": "bob", "nodes": [text]}, 409)
    agent.post("memory/write", {"nodes": [text]}, 409)


def test_memory_for_a_user_needs_no_review(agent: Agent) -> None:
    nodes = [{"text": f"Lamp {number}."} for number in range(3)]
    written = agent.post("memory/write", {"user_id": "ann", "nodes": nodes}, 201)
    assert [node["status"] for node in written["nodes"]] == ["active"] * 3


def test_rejects_a_blank_text_and_a_period_that_ends_before_it_begins(agent: Agent) -> None:
    times = {"valid_from": "2026-03-02T00:00:00Z", "valid_to": "2026-03-01T00:00:00Z"}
    for field, values in {"text": {"text": " \n "}, "valid_to": {"text": "Tea.", **times}}.items():
        [issue] = agent.post("memory/store", values, 400)["issues"]
        assert issue["path"] == field
        body = {"input_text": "a talk", "nodes": [values]}
        assert agent.post("memory/write", body, 400)["issues"][0]["path"] == f"nodes.0.{field}"


def test_rejects_a_memory_of_another_account(agent: Agent) -> None:
    for body in (
        {"nodes": [NODE], "account_id": "rival"},
        {"nodes": [{**NODE, "tenant_id": "rival"}]},
    ):
        assert agent.post("memory/write", body, 403)["error"] == "identity_mismatch"


def test_redaction_settings_do_not_change_the_digest(agent: Agent, acme: Account) -> None:
    node = {**NODE, "text_summary": "Write to lin.xu@example.com."}
    first = agent.post("memory/write", {"nodes": [node]}, 201)
    with acting(acme):
        Account.objects.filter(pk=acme.pk).update(redact=[])
        stored = MemoryEntry.objects.get().written_sha256
    assert agent.post("memory/write", {"nodes": [node]}, 200)["nodes"] == first["nodes"]
    assert len(stored) == 64


def test_text_that_becomes_longer_is_cut_to_its_column(agent: Agent) -> None:
    def emails(length: int) -> str:
        return " ".join(["a@b.co"] * (length // 7))

    fields = {"title": emails(500), "tags": [emails(100)], "entities": [emails(200)]}
    stored = agent.post("memory/store", {"text": "Tea.", "user_id": "u", **fields}, 201)
    assert stored["title"] == ("[email] " * 71)[:500]
    assert (len(stored["tags"][0]), len(stored["entities"][0])) == (100, 200)
    decomposed = "\u0958" * 500  # its composed form has two characters
    change = {"id": stored["id"], "title": decomposed, "tags": [emails(100)]}
    changed = agent.post("memory/update", change, 200)
    assert changed["title"] == "\u0915\u093c" * 250
    assert len(changed["tags"][0]) == 100


def test_digest_depends_on_the_secret_key() -> None:
    text = NewEntry(text="Lin's number is 555.")
    before = text.sha256()
    with override_settings(SECRET_KEY="another"):
        assert text.sha256() != before
        assert not text.matches_digest(before)


def test_write_is_recognised_after_key_rotation(agent: Agent) -> None:
    node = {**NODE, "client_id": "c9"}
    first = agent.post("memory/write", {"nodes": [node]}, 201)
    other = {**node, "text_summary": "Something else."}
    with override_settings(SECRET_KEY="new", SECRET_KEY_FALLBACKS=[settings.SECRET_KEY]):
        assert agent.post("memory/write", {"nodes": [node]}, 200)["nodes"] == first["nodes"]
        assert agent.post("memory/write", {"nodes": [other]}, 409)["error"] == "client_id_conflict"


def test_id_must_match_the_client_id(agent: Agent) -> None:
    pk = agent.post("memory/write", {"nodes": [NODE]}, 201)["nodes"][0]["id"]
    other = {**NODE, "client_id": "c8", "id": str(uuid4())}
    refused = agent.post("memory/write", {"nodes": [{**NODE, "client_id": "c7"}, other]}, 400)
    assert refused["issues"][0]["path"] == "nodes.1.id"
    own = {**NODE, "client_id": "c9", "id": pk}
    assert agent.post("memory/write", {"nodes": [own]}, 400)["issues"][0]["path"] == "nodes.0.id"


def test_cannot_take_an_id_of_another_account(agent: Agent, rival: Account) -> None:
    in_use = str(uuid5(rival.pk, "\x1fc1"))
    refused = agent.post("memory/store", {"text": "Mine.", "id": in_use}, 400)
    assert refused["issues"][0]["path"] == "nodes.0.id"
    agent.post("memory/store", {"text": "Mine.", "id": str(uuid4())}, 201)
    theirs = makers.agent(rival).post("memory/store", {"text": "Theirs."}, 201)["id"]
    refused = agent.post("memory/store", {"text": "Mine.", "id": theirs}, 409)
    assert refused["message"].startswith("An id of this request is in use")


TRAIN = {"text": "Ann takes the train to Ostrey on Mondays.", "user_id": "ann", "tags": ["travel"]}


def count(account: Account) -> int:
    return makers.count(MemoryEntry, account)


def test_storing_the_same_text_returns_the_existing_memory(agent: Agent, acme: Account) -> None:
    first = agent.post("memory/store", TRAIN, 201)
    assert first["decisions"] == []
    commits = makers.count(Commit, acme)
    again = agent.post("memory/store", TRAIN, 200)
    assert again["id"] == first["id"]
    assert again["decisions"] == [{"code": "already_known", "memory_id": first["id"]}]
    with acting(acme):
        assert (MemoryEntry.objects.count(), Commit.objects.count()) == (1, commits)


def test_different_attributes_are_stored(agent: Agent, acme: Account) -> None:
    ids = {agent.post("memory/store", TRAIN, 201)["id"]}
    others: list[dict[str, Any]] = [
        {"user_id": "bob"},
        {"agent_id": "bot"},
        {"run_id": "r"},
        {"scope": "elsewhere"},
        {"kind": "preference"},
        {"tags": ["travel", "work"]},
        {"metadata": {"heard": "twice"}},
        {"observed_at": "2026-01-31T12:00:00Z"},
        {"text": "Ann takes the train to Ostrey on Sundays."},
        {"client_id": "mine"},
        {"dedupe": False},
    ]
    for other in others:
        ids.add(agent.post("memory/store", {**TRAIN, **other}, 201)["id"])
    assert len(ids) == count(acme) == 1 + len(others)


def test_inactive_memories_are_not_duplicates(agent: Agent, acme: Account) -> None:
    first = agent.post("memory/store", TRAIN, 201)
    agent.post("memory/update", {"id": first["id"], "text": "Ann takes the bus."}, 200)
    second = agent.post("memory/store", TRAIN, 201)
    agent.post("memory/forget", {"id": second["id"]}, 200)
    agent.post("memory/store", TRAIN, 201)
    assert count(acme) == 3


def test_batch_is_deduplicated_on_request(agent: Agent, acme: Account) -> None:
    existing = agent.post("memory/store", TRAIN, 201)["id"]
    nodes = {"nodes": [TRAIN, {"text": "New.", "user_id": "ann"}]}
    written = agent.post("memory/write", {**nodes, "dedupe": True}, 201)
    assert written["nodes"][0]["id"] == existing
    assert count(acme) == 2
    turns = agent.post("memory/write", nodes, 201)  # turns of a conversation are not deduplicated
    assert existing not in {node["id"] for node in turns["nodes"]}
    assert count(acme) == 4


def test_repeated_text_of_a_batch_is_stored_once(agent: Agent, acme: Account) -> None:
    nodes = [TRAIN, {"text": "New.", "user_id": "ann"}, TRAIN]
    batches = [
        agent.post("memory/write", {"nodes": nodes, "dedupe": True, "force_reembed": True}, status)
        for status in (201, 200, 200)
    ]
    assert count(acme) == 2
    for batch in batches:
        first, new, again = [node["id"] for node in batch["nodes"]]
        assert first == again != new
        assert batch["nodes"] == batches[0]["nodes"]
    agent.post("memory/write", {"nodes": [{**TRAIN, "client_id": "a"}, TRAIN]}, 201)
    assert count(acme) == 4, "on request, and without ids, only"


def test_similar_text_is_stored_and_reported(agent: Agent, acme: Account) -> None:
    existing = agent.post("memory/store", TRAIN, 201)["id"]
    near = {**TRAIN, "text": "Ann takes the train to Ostrey on Fridays."}
    [decision] = agent.post("memory/store", near, 201)["decisions"]
    assert decision["code"] == "near_contradiction"
    assert decision["memory_id"] == existing
    assert 0 < decision["score"] <= 1
    assert count(acme) == 2
    other = {**near, "user_id": "bob"}
    assert agent.post("memory/store", other, 201)["decisions"] == []  # Ann's memory is not reported


def test_proposals_of_other_keys_are_not_reported(agent: Agent, acme: Account) -> None:
    text = {"text": "The office is in Ostrey."}  # account-wide, so it needs review
    first = agent.post("memory/store", text, 201)
    other = makers.agent(acme, ("memory:read", "memory:write"))
    assert other.post("memory/store", text, 201)["id"] != first["id"]
    assert agent.post("memory/store", text, 200)["id"] == first["id"]
