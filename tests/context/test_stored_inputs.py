"""Stored inputs of calls: digests, deduplication, retention and erasure with a user."""

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from context.actions.erase_from_calls import delete_inputs
from context.actions.input_retention import remove_expired_inputs
from context.actions.settings import change_settings
from context.archives.erasure_lookup_keys import collect_lookup_keys
from context.assembly.messages import Message
from context.models import (
    ContextBody,
    ContextCitation,
    ContextCostReport,
    ContextInput,
    ContextSummary,
    ToolResultArchive,
)
from context.models.archives import ArchiveScope
from context.reports.call_part_digests import body_digest, encode_json, salted_digest
from context.views.calls import citation_url
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.database.ids import uuid7
from knowledge.actions.erasure import erase_document, erase_source
from knowledge.actions.lore import create_lorebook
from knowledge.actions.sources import NewSource
from knowledge.models import KnowledgeDocument, KnowledgeSource
from rules.models import RuleDecision, RuleFeedback
from tests import makers
from tests.agent import Agent
from tests.context.builders import call, talk
from tests.context.test_assembling import TOOLS, assemble

ACCOUNT, OTHER = uuid4(), uuid4()
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(
    leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)


@given(values)
def test_cached_digest_equals_a_fresh_one(value: object) -> None:
    fresh = salted_digest(ACCOUNT, encode_json(value))
    assert body_digest(ACCOUNT, value) == body_digest(ACCOUNT, value) == fresh
    assert body_digest(OTHER, value) != fresh


def test_different_json_has_another_digest() -> None:
    alike = [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": True, "b": 2}, {"a": 1.0, "b": 2}]
    assert len({body_digest(ACCOUNT, value) for value in alike}) == len(alike)


def test_parts_of_calls_are_stored_once(agent: Agent, acme: Account) -> None:
    assemble(agent, talk(3), sources=[], tools=TOOLS)
    before = makers.count(ContextBody, acme)
    messages = [
        *talk(3),
        {"role": "assistant", "content": "Well."},
        {"role": "user", "content": "?"},
    ]
    assemble(agent, messages, sources=[], tools=TOOLS)
    with acting(acme):
        assert ContextBody.objects.of(acme).count() == before + 2
        newest = ContextInput.objects.of(acme).order_by("-created_at")[0]
        assert len(newest.messages) == len(messages)
        assert ContextBody.objects.of(acme).filter(text__contains="pizza").count() == 1


def test_expired_inputs_are_deleted_and_reports_stay(agent: Agent, acme: Account) -> None:
    assemble(agent, talk(2, word="ada@example.test"), sources=[])
    with acting(acme):
        assert not ContextBody.objects.of(acme).filter(text__contains="ada@example").exists()
        change_settings(acme.pk, {"inputs_days": 3}, actor=SYSTEM)
    assert remove_expired_inputs(acme.pk) == 0
    with acting(acme):
        long_ago = "2026-01-01T00:00:00Z"
        ContextInput.objects.of(acme).update(created_at=long_ago)
        ContextBody.objects.of(acme).update(used_on="2026-01-01")
    assert remove_expired_inputs(acme.pk) == 1
    with acting(acme):
        assert not ContextBody.objects.of(acme).exists()
        assert ContextCostReport.objects.of(acme).count() == 1


def test_erased_memory_is_removed_from_inputs(agent: Agent, acme: Account) -> None:
    memory = agent.post("memory/store", {"text": "The kiln is by the pond.", "user_id": "u"}, 201)
    assemble(agent, [{"role": "user", "content": "Where is the kiln?"}], user_id="u")
    assert makers.rows(ContextBody, acme, text__contains="pond")
    agent.erase(ids=[memory["id"]])
    with acting(acme):
        assert not ContextBody.objects.of(acme).filter(text__contains="pond").exists()
        assert not ContextInput.objects.of(acme).exists()


def deliver(agent: Agent, text: str) -> None:
    body = {"source": {"name": "docs"}, "documents": [{"ref": "kiln.md", "text": text}]}
    agent.post("knowledge/ingest", body)
    makers.settle()


@pytest.mark.parametrize("names_document", [True, False], ids=["input", "older_input"])
def test_erased_document_is_removed_from_inputs_with_an_older_version(
    agent: Agent, acme: Account, *, names_document: bool
) -> None:
    deliver(agent, "The kiln is by the pond.")
    question = [{"role": "user", "content": "Where is the kiln?"}]
    assemble(agent, question, sources=["knowledge"])
    assemble(agent, talk(1), sources=[])
    deliver(agent, "The kiln is by the mill.")
    document = makers.get(KnowledgeDocument, acme)
    with acting(acme):
        assert ContextBody.objects.of(acme).filter(text__contains="pond").exists()
        if names_document:  # as for a text that was left out of the call
            ContextCitation.objects.of(acme).delete()
        else:  # as an older release stored it
            ContextInput.objects.of(acme).update(refs=[])
        erase_document(acme.pk, document.pk, SYSTEM)
        assert not ContextBody.objects.of(acme).filter(text__contains="pond").exists()
        assert ContextInput.objects.of(acme).count() == 1


def test_inputs_of_cited_objects_are_found_by_an_index(agent: Agent, acme: Account) -> None:
    document = uuid4()
    with CaptureQueriesContext(connection) as queries, acting(acme):
        delete_inputs(acme.pk, [document])
    statements = [each["sql"] for each in queries if "context_contextcitation" in each["sql"]]
    assert len(statements) == 2  # one for reports, one for inputs
    for sql in statements:
        plan = makers.explain(acme, sql)
        assert "one_citation_per_call" in plan, sql
        assert "Seq Scan" not in plan, sql


def test_inputs_are_read_from_the_creation_of_the_objects(agent: Agent, acme: Account) -> None:
    with CaptureQueriesContext(connection) as queries, acting(acme):
        delete_inputs(acme.pk, [uuid7()])
    [statement] = [each["sql"] for each in queries if "unnest(refs)" in each["sql"]]
    assert "inputs_by_age" in makers.explain(acme, statement)


@pytest.mark.parametrize("other", [uuid7, uuid4], ids=["new_objects", "objects_of_any_age"])
def test_input_of_a_text_left_out_of_its_call_is_erased_with_many(
    agent: Agent, acme: Account, other: Callable[[], UUID]
) -> None:
    memory = agent.store("The kiln is by the pond.", user_id="u")
    assemble(agent, [{"role": "user", "content": "Where is the kiln?"}], user_id="u")
    with acting(acme):
        assert ContextInput.objects.of(acme).exists()
        ContextCitation.objects.of(acme).delete()  # as for a text that was left out of the call
        delete_inputs(acme.pk, [UUID(memory), *(other() for _ in range(20))])
        assert not ContextInput.objects.of(acme).exists()


def test_report_keeps_only_ids_of_erased_objects(agent: Agent, acme: Account) -> None:
    title, body = "Mira's kiln", "# Mira's kiln\n\n## Mira's pond\n\nThe kiln fires at six."
    agent.store("Tea is served at nine.", user_id="u")
    memory = agent.store("The kiln is by the pond.", title=title, user_id="u")
    document = {"ref": "mira.md", "text": body}
    agent.post("knowledge/ingest", {"source": {"name": "mira"}, "documents": [document]}, 201)
    entry = {"name": title, "keys": ["kiln"], "content": "The kiln is older than the house."}
    with acting(acme):
        create_lorebook(acme.pk, SYSTEM, NewSource(name="mira's", kind="lorebook"), [entry])
    call = assemble(agent, [{"role": "user", "content": "Where is the kiln?"}], user_id="u")
    path, before = f"context/reports/{call['report_id']}", call["context_cost"]["citations"]
    titles = {each["source"]: each["title"] for each in before if each["ref"] != memory}
    assert {"knowledge": title, "lore": title}.items() <= titles.items()
    agent.erase(ids=[memory])
    with acting(acme):
        for source in KnowledgeSource.objects.of(acme):
            erase_source(acme.pk, source.pk, SYSTEM)
    report = agent.get(path, 200)
    assert "mira" not in str(report).lower()
    citations = makers.get(ContextCostReport, acme).report["citations"]
    assert [each["ref"] for each in citations] == [each["ref"] for each in before]
    assert all(map(citation_url, citations))


RETAINED_MODELS = (ToolResultArchive, ContextCostReport, ContextSummary, RuleDecision)


@pytest.fixture
def two(agent: Agent, acme: Account) -> Account:
    """Ann and Ben, each with a tool result, a summarised call and a decision."""
    for user in ("ann", "ben"):
        result = {"tool_name": "look", "result": f"{user} has tea.", "threshold": 0}
        agent.post("tool-results", {**result, "user_id": user, "conversation_id": user}, 201)
        call(
            acme,
            [{"role": "user", "content": f"I am {user}."}, *talk(6, characters=600)],
            window=1_000,
            reserve=100,
            within=ArchiveScope(conversation_id=user, user_id=user),
            policy={"least_turns": 6, "summary_tokens": 100, "prune": []},
        )
        query = {"context": {"who": user}, "candidates": ["bash"], "user_id": user}
        selection = agent.post("memory/tools/select", query, 200)
        rating = {"selected_tool": "bash", "outcome": "negative", "note": f"{user} said so"}
        rating |= {"decision_id": selection["decision"]["decision_id"]}
        agent.post("memory/tools/feedback", {**query, **rating}, 201)
    return acme


def people(account: Account) -> list[set[str]]:
    with acting(account):
        return [
            {*model._default_manager.filter(account=account).values_list("user_id", flat=True)}  # noqa: SLF001
            for model in RETAINED_MODELS
        ]


def test_user_without_memories_is_erased_by_id(agent: Agent, two: Account) -> None:
    assert people(two) == [{"ann", "ben"}] * len(RETAINED_MODELS)
    token = agent.post("memory/erase", {"user_id": "ann"}, 200)["confirm_token"]
    other = agent.post("memory/erase", {"user_id": "ben", "confirm_token": token}, 409)
    assert other["error"] == "count_changed", "a confirmation is for one user"
    done = agent.erase(user_id="ann")
    assert done["count"] == 0
    assert done["goes"]["kept_elsewhere"] >= len(RETAINED_MODELS)
    assert people(two) == [{"ben"}] * len(RETAINED_MODELS)
    with acting(two):
        assert RuleFeedback.objects.of(two).count() == 1
        [remaining] = ContextInput.objects.of(two)
        texts = list(ContextBody.objects.of(two).values_list("text", flat=True))
        assert not any("I am ann." in text for text in texts)
        assert any("I am ben." in text for text in texts)
        # Shared bodies stay for the remaining user.
        stored = {*ContextBody.objects.of(two).values_list("pk", flat=True)}
        assert {*remaining.messages} <= stored
    assert agent.get("memory/verify")["ok"]
    agent.post("memory/erase", {"user_id": "ann"}, 404)


def test_other_data_is_erased_with_the_last_memory(agent: Agent, two: Account) -> None:
    ids = [agent.store(f"Tea {n}.", user_id="ann") for n in range(2)]
    assert agent.erase(ids=ids[:1])["goes"]["kept_elsewhere"] == 0
    assert people(two) == [{"ann", "ben"}] * len(RETAINED_MODELS)
    assert agent.erase(ids=ids[1:])["goes"]["kept_elsewhere"] >= len(RETAINED_MODELS)
    assert people(two) == [{"ben"}] * len(RETAINED_MODELS)


def test_arguments_of_a_load_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[Any] = []

    def encode(value: Any) -> str:
        encoded.append(value)
        return encode_json(value)

    monkeypatch.setattr("context.archives.erasure_lookup_keys.encode_json", encode)
    loaded, named, result = str(uuid4()), str(uuid4()), uuid4()
    function = {"name": "load_tool_history", "arguments": f'{{"uuid": "{loaded}"}}'}
    calls = [{"id": "c1", "type": "function", "function": function}]
    parts = [{"type": "text", "text": f"{number} of {named}"} for number in range(50)]
    messages: dict[UUID, Message] = {
        uuid4(): {"role": "assistant", "content": None, "tool_calls": calls},
        result: {"role": "tool", "tool_call_id": "c1", "content": parts},
    }
    keys = collect_lookup_keys(ACCOUNT, messages, messages)[result]
    assert {loaded, named} <= {*keys}
    assert len(keys) == 53  # digests of each text and of all, and two ids
    assert encoded == [function["arguments"]]


def test_loads_with_a_repeated_call_id_are_all_named() -> None:
    first, second, result = str(uuid4()), str(uuid4()), uuid4()
    messages: dict[UUID, Message] = {}
    for name, pk in (("load_tool_history", first), ("load_tool_history", second), ("look", "")):
        function = {"name": name, "arguments": f'{{"uuid": "{pk}"}}'}
        calls = [{"id": "c1", "type": "function", "function": function}]
        messages[uuid4()] = {"role": "assistant", "content": None, "tool_calls": calls}
    messages[result] = {"role": "tool", "tool_call_id": "c1", "content": "The kiln is hot."}
    assert {first, second} <= {*collect_lookup_keys(ACCOUNT, messages, messages)[result]}
