"""Texts that are erased while a call with them is assembled, or messages are prepared with them."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from context.actions.archive_and_load_results import prepare_messages
from context.actions.archives import erase_archives
from context.actions.assemble import PreparedCall, assemble_call, prepare_call, store_call
from context.assembly.retrieval import retrieve
from context.assembly.stage_data import AssemblyRequest
from context.models import (
    ContextBody,
    ContextCostReport,
    ContextInput,
    ContextSummary,
    ToolResultArchive,
)
from context.models.archives import ArchiveScope
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.api.models import IdempotentRequest
from knowledge.actions.erasure import erase_source
from knowledge.actions.lore import create_lorebook, erase_entry
from knowledge.actions.sources import NewSource
from knowledge.models import KnowledgeSource, LorebookEntry
from memory.actions.confirmation_tickets import Confirmation
from memory.actions.erasure import OPERATION, erase_entries
from memory.models import MemoryEntry
from tests import makers
from tests.agent import Agent
from tests.context.builders import talk
from tests.context.test_archives import LONG
from tests.context.test_erased_results import SECRET as RESULT
from tests.context.test_erased_results import archive_result, erase_all
from tests.context.test_erased_results import conversation as result_conversation
from tests.context.test_preparing import conversation, texts
from tests.race import run_concurrently

SECRET = "The kiln is behind the sparrow's nest."
QUESTION = [{"role": "user", "content": "Where is the kiln?"}]
RETRY = {"Idempotency-Key": "one"}


def store_memory(account: Account) -> None:
    makers.agent(account).write(SECRET, "The mill is by the pond.", user_id="u")


def store_document(account: Account) -> None:
    body = {"source": {"name": "docs"}, "documents": [{"ref": "kiln.md", "text": SECRET}]}
    makers.agent(account).post("knowledge/ingest", body, 201)
    makers.settle()


def store_lore(account: Account) -> None:
    entry = {"name": "kiln", "keys": ["kiln"], "content": SECRET}
    with acting(account):
        create_lorebook(account.pk, SYSTEM, NewSource(name="lore", kind="lorebook"), [entry])


def erase_memory(account: Account) -> None:
    with acting(account):
        rows = MemoryEntry.objects.of(account).filter(content=SECRET)
        ids = list(rows.values_list("pk", flat=True))
        ticket = Confirmation(OPERATION, account.pk, SYSTEM, ids, "").ticket
        erase_entries(account.pk, rows, SYSTEM, ticket=ticket)


def erase_knowledge(account: Account) -> None:
    with acting(account):
        erase_source(account.pk, KnowledgeSource.objects.of(account).get().pk, SYSTEM)


Step = Callable[[Account], None]
BY_SOURCE = pytest.mark.parametrize(
    ("store", "erase"),
    [
        (store_memory, erase_memory),
        (store_document, erase_knowledge),
        (store_lore, erase_knowledge),
    ],
    ids=["memory", "document", "lore"],
)


@BY_SOURCE
def test_text_erased_after_its_retrieval_is_left_out(
    agent: Agent, acme: Account, monkeypatch: pytest.MonkeyPatch, store: Step, erase: Step
) -> None:
    store(acme)

    def retrieve_before_erasure(request: Any) -> Any:
        retrieved = retrieve(request)
        assert SECRET in [snippet.text for snippet in retrieved.snippets]
        erase(acme)
        return retrieved

    monkeypatch.setattr("context.actions.assemble.retrieve", retrieve_before_erasure)
    body = {"messages": QUESTION, "user_id": "u", "policy": {"retrieval_ms": 10_000}}
    call = agent.post("context/assemble", body, 201, **RETRY)
    assert "sparrow" not in str(call)
    assert {"action": "drop_erased", "texts": 1} in call["context_cost"]["decisions"]
    assert agent.post("context/assemble", body, 201, **RETRY) == call
    assert makers.count(ContextBody, acme, text__contains="sparrow") == 0
    agent.post(f"context/reports/{call['report_id']}/replay", {}, 200)


def prepare(account: Account) -> PreparedCall:
    request = AssemblyRequest(
        account_id=account.pk,
        actor=SYSTEM,
        messages=QUESTION,
        window=20_000,
        reserve=1_000,
        within=ArchiveScope(user_id="u"),
        sources=("memory", "knowledge", "lore"),
        policy={"retrieval_ms": 10_000},
    )
    return prepare_call(request)


@BY_SOURCE
def test_erasure_waits_for_a_call_that_is_being_recorded(
    shared_database: None, acme: Account, store: Step, erase: Step
) -> None:
    store(acme)
    call = prepare(acme)
    assert call.retrieved.snippets
    run_concurrently(acme, lambda: store_call(call), lambda: erase(acme))
    assert makers.count(ContextCostReport, acme) == 1
    assert makers.count(ContextInput, acme) == 0
    assert makers.count(ContextBody, acme, text__contains="sparrow") == 0


@BY_SOURCE
def test_call_does_not_wait_for_an_erasure(
    shared_database: None, acme: Account, store: Step, erase: Step
) -> None:
    store(acme)
    call = prepare(acme)

    def record() -> list[str]:
        with acting(acme):
            recorded = store_call(call)
        return [snippet.text for snippet in recorded.assembled.draft.snippets]

    assert SECRET not in run_concurrently(acme, lambda: erase(acme), record)


@pytest.fixture
def summarised(agent: Agent, acme: Account) -> PreparedCall:
    """A call that is not recorded yet, with a stored summary of a tool result."""
    request = AssemblyRequest(
        account_id=acme.pk,
        actor=SYSTEM,
        messages=[*result_conversation(RESULT)[:-1], *talk(6, characters=600)],
        window=1_000,
        reserve=100,
        within=ArchiveScope(conversation_id="c1"),
        policy={"least_turns": 6, "summary_tokens": 100, "prune": []},
    )
    assemble_call(request)
    makers.update(ContextSummary, acme, {}, text="The bird is in a nest.", summary_by="talker")
    archive_result(agent)
    call = prepare_call(request)
    summary = call.assembled.draft.compacted
    assert summary
    assert "nest" in summary.text
    return call


def test_summary_erased_before_its_call_is_recorded_is_left_out(
    acme: Account, summarised: PreparedCall
) -> None:
    erase_all(acme)
    with acting(acme):
        recorded = store_call(summarised)
        assert not ContextInput.objects.of(acme).filter(rest__has_key="compacted").exists()
    assert {"action": "drop_erased", "texts": 1} in recorded.report["decisions"]
    summary = recorded.assembled.draft.compacted
    assert summary
    assert "nest" not in summary.text


def test_erasure_of_a_summary_waits_for_its_call(
    shared_database: None, acme: Account, summarised: PreparedCall
) -> None:
    run_concurrently(acme, lambda: store_call(summarised), lambda: erase_all(acme))
    assert makers.count(ContextCostReport, acme) == 2
    assert makers.count(ContextSummary, acme) == 0
    assert makers.count(ContextInput, acme, rest__has_key="compacted") == 0


def test_call_locks_archives_before_its_summary(
    acme: Account, summarised: PreparedCall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("context.actions.assemble.MIN_ARCHIVED", 1)
    with acting(acme):
        ToolResultArchive.objects.of(acme).delete()
    call = prepare_call(summarised.request)
    assert call.assembled.collected.archivable
    with acting(acme), CaptureQueriesContext(connection) as queries:
        store_call(call)
    statements = [query["sql"] for query in queries if "FOR KEY SHARE" in query["sql"]]
    tables = [re.findall(r"FROM (context_\w+)", sql) for sql in statements]
    assert tables[:2] == [["context_toolresultarchive"], ["context_contextsummary"]]


def test_stored_response_is_erased_with_lore(agent: Agent, acme: Account) -> None:
    store_lore(acme)
    body = {"messages": QUESTION, "policy": {"retrieval_ms": 10_000}}
    assert "sparrow" in str(agent.post("context/assemble", body, 201, **RETRY))
    [entry] = makers.rows(LorebookEntry, acme)
    with acting(acme):
        erase_entry(acme.pk, entry.pk, SYSTEM)
    agent.post("context/assemble", body, 410, **RETRY)


@pytest.mark.usefixtures("low_threshold")
def test_response_with_an_erased_tool_result_is_not_stored(
    agent: Agent, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    body: dict[str, Any] = {"messages": conversation(LONG, "short"), "conversation_id": "c1"}
    first = agent.post("context/prepare", body)
    archive = first["archived"][0]["uuid"]

    def prepare_before_erasure(*arguments: Any) -> Any:
        prepared = prepare_messages(*arguments)
        with acting(acme):
            rows = list(ToolResultArchive.objects.of(acme).filter(pk=archive))
            erase_archives(acme.pk, SYSTEM, rows, reason="")
        return prepared

    monkeypatch.setattr("context.api.tool_results.prepare_messages", prepare_before_erasure)
    body |= {"messages": first["messages"], "load_uuids": [archive]}
    assert texts(agent.post("context/prepare", body, 200, **RETRY)) == [LONG, "short"]
    assert makers.get(IdempotentRequest, acme).answer == ""
    monkeypatch.undo()
    again = agent.post("context/prepare", body, 200, **RETRY)
    assert again["loaded"][0]["part"] == "missing"


TOOL_RESULT = {"tool_name": "search_manual", "result": SECRET, "threshold": 0}


def test_responses_that_no_id_leads_to_are_not_stored(agent: Agent, acme: Account) -> None:
    short = {**TOOL_RESULT, "threshold": 1_000, "user_id": "ann"}
    prepare = {"messages": result_conversation(SECRET), "user_id": "ann"}
    for path, body in (("tool-results", short), ("context/prepare", prepare)):
        key = {"Idempotency-Key": path}
        assert agent.post(path, body, 200, **key) == agent.post(path, body, 200, **key)
        agent.post(path, {**body, "user_id": "bob"}, 409, **key)
        assert makers.get(IdempotentRequest, acme, idempotency_key=path).answer == ""


def erase_results(account: Account) -> None:
    with acting(account):
        rows = list(ToolResultArchive.objects.of(account))
        erase_archives(account.pk, SYSTEM, rows, reason="")


def test_result_that_is_being_erased_is_archived_anew(shared_database: None, acme: Account) -> None:
    agent = makers.agent(acme)
    erased = agent.post("tool-results", TOOL_RESULT, 201)["archive"]["uuid"]
    again = run_concurrently(
        acme,
        lambda: erase_results(acme),
        lambda: agent.post("tool-results", TOOL_RESULT, 201, **RETRY),
    )
    assert again["archive"]["uuid"] == erased
    assert makers.get(ToolResultArchive, acme).result_full == SECRET
    assert agent.post("tool-results", TOOL_RESULT, 201, **RETRY) == again


def test_erasure_waits_for_the_response_with_an_equal_result(
    shared_database: None, acme: Account
) -> None:
    agent = makers.agent(acme)
    agent.post("tool-results", TOOL_RESULT, 201)
    run_concurrently(
        acme,
        lambda: agent.post("tool-results", TOOL_RESULT, 200, **RETRY),
        lambda: erase_results(acme),
    )
    assert makers.count(ToolResultArchive, acme) == 0
    agent.post("tool-results", TOOL_RESULT, 410, **RETRY)
