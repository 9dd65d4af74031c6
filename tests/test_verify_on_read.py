"""Rows that someone changed in the database are withheld from agents with `verify_on_read`."""

import json
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from kmapp.ledger.models import Commit, Mismatch
from kmapp.ledger.read_verification import (
    WITHHELD_ROWS,
    ObjectKey,
    collect_withheld,
    withhold_mismatches,
    withhold_states,
)
from kmapp.ledger.verified_commit_cache import commit_cache
from kmapp.outbox.models import OutboxEvent
from knowledge.models import KnowledgeChunk, KnowledgeDocument, KnowledgeSource, LorebookEntry
from knowledge.retrieval import verify_chunks
from memory.models import MemoryEntry, MemoryVersion
from rules.evaluation import rule_cache
from tests import makers
from tests.agent import Agent
from tests.kernel.fsck.tampering import Intruder
from tests.knowledge.builders import deliver, fill_knowledge
from tests.rules.builders import add_rule
from tests.sealed_reads import (
    EDITS,
    QUERY,
    assert_withheld,
    edited,
    pop_mismatch_reasons,
    read,
    read_everywhere,
)

pytestmark = pytest.mark.usefixtures("module_commits")

TEXT = "The spare key of the workshop is in the blue box."
OWNER = {"user_id": "ana"}
GUIDE = "# Keys\n\nThe spare key is in the blue box.\n\n# Doors\n\nThe back door stays shut.\n"


@pytest.fixture
def agent(acme: Account) -> Agent:
    makers.set_policy(acme, {"verify_on_read": True, "account_wide": "apply"})
    scopes = ["memory:read", "memory:write", "context:write", "context:read"]
    return makers.agent(acme, [*scopes, "knowledge:read", "rules:read"])


def test_changed_memory_is_withheld_from_every_answer(
    acme: Account, agent: Agent, intruder: Intruder
) -> None:
    pk = agent.store(TEXT, **OWNER)
    other = agent.store("The workshop opens at nine; the spare key hangs there.", **OWNER)
    makers.settle()
    for answer in read_everywhere(agent, pk, OWNER, 200).values():
        assert TEXT in json.dumps(answer)
        assert "withheld" not in answer
    for edit in EDITS:
        owner = {"user_id": "bob"} if edit.startswith("user_id") else OWNER
        with edited(intruder, "memory_memoryentry", pk, edit):
            asking = read_everywhere if edit == EDITS[0] else read
            answers = asking(agent, pk, owner)
            assert_withheld(answers, pk, TEXT, "was sold")
            assert answers["get"]["error"] == "withheld", edit
            if owner is OWNER:
                assert other in json.dumps(answers["search"])  # the others are returned
    assert "withheld" not in agent.post("memory/search", {"query": QUERY, **OWNER})
    assert pop_mismatch_reasons(acme) == {pk: "changed"}


def test_changed_knowledge_is_withheld(acme: Account, agent: Agent, intruder: Intruder) -> None:
    deliver(acme, {"guide.md": GUIDE})
    fill_knowledge(acme, 1)
    makers.settle()
    query = {"query": "Where is the spare key?", "limit": 3}
    [first, *_] = agent.post("knowledge/search", query, 200)["results"]
    assert "blue box" in first["text"]
    chunk = makers.get(KnowledgeChunk, acme, pk=first["id"])
    citation = first["citations"][0]
    document = makers.get(KnowledgeDocument, acme, pk=chunk.document_id)
    source = makers.get(KnowledgeSource, acme, pk=document.source_id)
    other_trust = "untrusted" if source.trust == "trusted" else "trusted"
    tables = {
        "knowledge_knowledgechunk": (
            chunk.pk,
            ("text = 'The spare key is sold.'", "start = start + 1", '"end" = "end" - 1',
             "line_start = line_start + 1", "line_end = line_end + 1", "page = 3",
             "headings = '{Obey me}'", "chunk_index = chunk_index + 7"),
        ),
        "knowledge_knowledgedocument": (
            chunk.document_id,
            ("title = 'Official'", "url = 'https://evil.test'", "removed_at = now()",
             "observed_at = now()", "ref = 'other.md'"),
        ),
        "knowledge_knowledgesource": (
            source.pk,
            (f"trust = '{other_trust}'", "name = 'Official'", "scope = 'other'"),
        ),
    }  # fmt: skip
    for table, (pk, edits) in tables.items():
        for edit in edits:
            with edited(intruder, table, pk, edit):
                answer = agent.post("knowledge/search", query, 200)
                assert answer.get("withheld"), edit
                assert "spare key" not in json.dumps(answer["results"]), edit
                refused = agent.post("knowledge/get", {"id": str(chunk.pk)}, 404)
                assert (refused["error"], refused["withheld"]) == ("withheld", 1), edit
    # An edit of the text itself. This process has it in a cache; a new one reads and withholds it.
    with edited(
        intruder,
        "knowledge_knowledgetext",
        chunk.text_row_id,
        "text = replace(text, 'blue', 'red')",
    ):
        assert agent.post("knowledge/get", {"citation": citation}, 200)["text"] == first["text"]
        verify_chunks._texts.clear()  # noqa: SLF001 - as in a new process
        assert agent.post("knowledge/get", {"citation": citation}, 404)["error"] == "withheld"
        assert agent.post("knowledge/search", query, 200)["withheld"] == 1
    lore = makers.rows(LorebookEntry, acme)[0]
    lookup = {"messages": ["Some tea?"]}
    assert agent.post("knowledge/lorebook/evaluate", lookup, 200)["results"]
    with edited(intruder, "knowledge_lorebookentry", lore.pk, "content = 'Sold.'"):
        answer = agent.post("knowledge/lorebook/evaluate", lookup, 200)
        assert (answer["results"], answer["withheld"]) == ([], 1)


def test_unsealed_rows_and_revived_memories_are_withheld(
    acme: Account, agent: Agent, intruder: Intruder
) -> None:
    pk = UUID(agent.store(TEXT, **OWNER))
    makers.settle()
    # A copy without a seal in the ledger gets the index row of the original: searches find it.
    twin = uuid4()
    columns = ", ".join(set(intruder.columns("memory_memoryentry")) - {"id", "client_id"})
    intruder.run(
        f"INSERT INTO memory_memoryentry (id, {columns})"  # noqa: S608
        f" SELECT %s, {columns} FROM memory_memoryentry WHERE id = %s",
        twin,
        pk,
    )
    intruder.run("UPDATE search_indexeddocument SET document = %s WHERE document = %s", twin, pk)
    agent.post("memory/forget", {"id": str(pk), **OWNER})
    assert_withheld(read(agent, twin, OWNER), twin)
    assert pop_mismatch_reasons(acme) == {str(twin): "unsealed"}
    intruder.run("DELETE FROM memory_memoryentry WHERE id = %s", twin)
    intruder.run("UPDATE search_indexeddocument SET document = %s WHERE document = %s", pk, twin)
    # An edit of the status alone: the row differs from its last seal.
    with edited(intruder, "memory_memoryentry", pk, "status = 'active'"):
        assert_withheld(read(agent, pk, OWNER), pk, TEXT)
        assert pop_mismatch_reasons(acme) == {str(pk): "changed"}
    # The previous version of the whole row: it matches its first seal, but not its last one.
    was = "status = 'active', version = 1, commit_id = written_in, updated_at = created_at"
    with edited(intruder, "memory_memoryentry", pk, was):
        assert_withheld(read(agent, pk, OWNER), pk, TEXT)
        assert pop_mismatch_reasons(acme) == {str(pk): "outdated"}
        # Without the second seal, the row matches its last seal and is returned.
        seals = "SELECT * FROM ledger_seal WHERE object_id = %s AND op = 'FORGET'"
        intruder.run(f"CREATE TEMP TABLE removed AS {seals}", pk)
        intruder.run("DELETE FROM ledger_seal WHERE object_id = %s AND op = 'FORGET'", pk)
        assert agent.post("memory/get", {"id": str(pk), **OWNER}, 200)["text"] == TEXT
        intruder.run("INSERT INTO ledger_seal SELECT * FROM removed")


def test_memory_as_of_a_time_is_verified_too(
    acme: Account, agent: Agent, intruder: Intruder
) -> None:
    pk = agent.store(TEXT, **OWNER)
    [version] = makers.rows(MemoryEntry, acme)
    then = {"as_of": version.created_at.isoformat(), **OWNER}
    agent.post("memory/update", {"id": pk, "text": "The spare key is lost.", **OWNER}, 200)
    assert agent.post("memory/get", {"id": pk, **then}, 200)["text"] == TEXT
    assert agent.post("memory/list", then, 200)["results"][0]["text"] == TEXT
    spoil = 'UPDATE memory_memoryversion SET state = state || \'{"content": "Sold."}\''
    intruder.run(f"{spoil} WHERE version = 1 AND entry_id = %s", pk)
    assert agent.post("memory/get", {"id": pk, **then}, 404)["error"] == "withheld"
    list_results = agent.post("memory/list", then, 200)
    assert (list_results["results"], list_results["withheld"]) == ([], 1)
    history = agent.get(f"memory/{pk}/history", 200, **OWNER)
    assert ([row["version"] for row in history["versions"]], history["withheld"]) == ([2], 1)


def test_change_between_two_statements_is_no_mismatch(acme: Account, agent: Agent) -> None:
    """A row that was read before a change is compared with the seal of its own commit."""
    pk = agent.store(TEXT, **OWNER)
    with acting(acme):
        rows = list(MemoryEntry.objects.of(acme).with_verify_on_read(acme.pk))
    agent.post("memory/update", {"id": pk, "text": "The spare key is lost.", **OWNER}, 200)
    with acting(acme):
        assert withhold_mismatches(acme.pk, rows) == rows
        rows[0].content = "Sold."
        assert withhold_mismatches(acme.pk, rows) == []


def test_version_erased_after_the_read_is_no_mismatch(acme: Account, agent: Agent) -> None:
    key = ObjectKey("memory.memoryentry", UUID(agent.store(TEXT, **OWNER)))
    versions = makers.rows(MemoryVersion, acme)
    makers.agent(acme, ["memory:erase"]).erase(ids=[str(key.object_id)])
    with acting(acme), collect_withheld() as withheld:
        assert withhold_states(acme.pk, key, versions) == []
    assert not withheld.mismatches


def test_edited_or_unchained_commits_are_not_accepted_as_seals(
    acme: Account, agent: Agent, intruder: Intruder
) -> None:
    pk = agent.store(TEXT, **OWNER)
    commit_cache.clear()  # as in a new process
    with edited(
        intruder,
        "ledger_commit",
        makers.get(MemoryEntry, acme, pk=pk).commit_id,
        "parent_hash = repeat('a', 64)",
    ):
        answer = agent.post("memory/search", {"query": QUERY, **OWNER}, 200)
        assert (answer["results"], answer["withheld"]) == ([], 1)
        [mismatch] = makers.rows(Mismatch, acme)
        assert mismatch.reason == "commit"
    assert agent.search(QUERY, **OWNER)


def test_changed_rule_is_withheld(acme: Account, agent: Agent, intruder: Intruder) -> None:
    written = add_rule(acme, "No curl", "active")
    selection = {"context": {"intent": "fetch"}, "candidates": ["bash", "curl"]}
    assert agent.post("memory/tools/select", selection, 200)["selection"]["selected"] == "bash"
    for edit in ("\"then\" = '{\"tool\": {\"deny\": [\"bash\"]}}'", "priority = 50",
                 "audience = 'user', audience_id = 'ana'", "state = 'shadow'", "state = 'draft'",
                 "created_at = now()", "scope = 'x'"):  # fmt: skip
        with edited(intruder, "rules_rule", written.pk, edit):
            # This process still has the rule as it was sealed.
            chosen = agent.post("memory/tools/select", selection, 200)["selection"]
            assert chosen["denied"] == [{"name": "curl", "reason": "deny_list"}], edit
            rule_cache._cache.clear()  # noqa: SLF001 - as in a new process
            evaluated = agent.post("memory/rules/evaluate", {"context": {"intent": "fetch"}}, 200)
            assert (evaluated["active"], evaluated["shadow"]) == ([], []), edit
            assert evaluated["withheld"] == 1, edit
            assert agent.post("memory/tools/select", selection, 200)["withheld"] == 1
            assert agent.get("rules", 200)["withheld"] == 1
            assert agent.get(f"rules/{written.pk}", 404)["error"] == "withheld"
        # Restored: it is in effect again without a restart.
        assert agent.post("memory/tools/select", selection, 200)["selection"]["selected"] == "bash"


def test_mismatch_is_counted_reported_and_shown(
    acme: Account, agent: Agent, intruder: Intruder, ada: User
) -> None:
    pk = agent.store(TEXT, **OWNER)
    makers.webhook(acme, "alerts")
    subscribe = "UPDATE webhooks_webhook SET is_active = true, event_types = '{ledger.mismatch}'"
    intruder.run(f"{subscribe} WHERE account_id = %s", acme.pk)
    before = WITHHELD_ROWS.labels("memory.memoryentry", "changed")._value.get()  # noqa: SLF001
    with edited(intruder, "memory_memoryentry", pk, "content = 'The spare key was sold.'"):
        for _ in range(2):
            agent.post("memory/search", {"query": QUERY, **OWNER}, 200)
    assert WITHHELD_ROWS.labels("memory.memoryentry", "changed")._value.get() == before + 2  # noqa: SLF001
    [mismatch] = makers.rows(Mismatch, acme)
    [event] = makers.rows(OutboxEvent, acme, topic="webhooks.send")
    assert event.payload["reference"] == str(mismatch.pk)
    intruder.run("DELETE FROM outbox_delivery WHERE event_id = %s", event.pk)  # no receiver runs
    admin = makers.signed_in(ada)
    for name in ("web:operations", "web:ledger"):
        page = admin.get(reverse(name)).content.decode()
        assert not makers.missing(page, pk, "Withheld rows", "Differs from its sealed state")


def test_verification_is_off_by_default_and_costs_no_statement_of_a_search(
    acme: Account, agent: Agent, intruder: Intruder
) -> None:
    for number in range(4):
        agent.store(f"The spare key number {number} of the workshop.", **OWNER)
    pk = agent.store(TEXT, **OWNER)

    def count_statements() -> int:
        agent.post("memory/search", {"query": QUERY, **OWNER}, 200)
        with CaptureQueriesContext(connection) as captured:
            agent.post("memory/search", {"query": QUERY, **OWNER}, 200)
        return len(captured)

    verified = count_statements()
    makers.set_policy(acme, {"verify_on_read": False})
    assert verified == count_statements()
    with edited(intruder, "memory_memoryentry", pk, "title = 'Sold'"):
        assert agent.post("memory/get", {"id": pk, **OWNER}, 200)["title"] == "Sold"
    sealed = [change["object"] for row in makers.rows(Commit, acme) for change in row.diff]
    assert sealed.count(f"accounts.account:{acme.pk}") >= 2
