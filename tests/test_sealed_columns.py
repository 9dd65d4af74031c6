"""Each sealed column of rules, documents and lore is verified before agents get the row."""

from collections.abc import Callable, Collection, Mapping
from typing import Any
from uuid import UUID

import pytest
from django.db import models

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, SealedModel
from knowledge.actions.lore import add_entries
from knowledge.actions.sources import NewSource, ensure_source
from knowledge.models import (
    KnowledgeChunk,
    KnowledgeDocument,
    KnowledgeSource,
    KnowledgeText,
    LorebookEntry,
)
from knowledge.retrieval import verify_chunks
from rules.evaluation import rule_cache
from rules.models import Rule
from tests import makers
from tests.agent import Agent
from tests.kernel.fsck.tampering import Intruder
from tests.knowledge.builders import deliver
from tests.rules.builders import add_rule
from tests.sealed_reads import edited

Read = Callable[[], dict[str, Any]]
pytestmark = pytest.mark.usefixtures("module_commits")

GUIDE = """# Keys

The spare key is in the blue box, and the other one is with the caretaker of the workshop.

# Doors

The back door of the workshop stays shut, because nobody has a key of it any more.
"""
# Columns that differ in type or in meaning from those that a general edit by type can change.
EDITS: Mapping[type[models.Model], Mapping[str, str]] = {
    Rule: {
        "audience": "audience = 'user', audience_id = 'ana'",
        "audience_id": "audience = 'agent', audience_id = 'ana'",
        "state": "state = 'draft'",
    },
    KnowledgeSource: {"kind": "kind = 'upload'", "trust": "trust = 'trusted'"},
    KnowledgeText: {"shape": "shape = 'plain'"},
    LorebookEntry: {"secondary_logic": "secondary_logic = 'not_any'"},
}
UNEDITED = {"id", "account_id"}
LEFT_OUT: Mapping[type[models.Model], Collection[str]] = {
    # Chunks have no seal. These columns are not returned, or listed in docs/operations.md.
    KnowledgeChunk: ("index_version", "sha256", "created_at", "headings"),
    LorebookEntry: ("enabled",),  # a disabled entry is not returned
}


@pytest.fixture
def agent(acme: Account) -> Agent:
    makers.set_policy(acme, {"verify_on_read": True})
    return makers.agent(acme, ["knowledge:read", "rules:read"])


def list_edits(model: type[models.Model], others: Mapping[str, UUID]) -> dict[str, str]:
    """Return an assignment for each verified column; keys refer to `others`, which exist."""
    unsealed = model.unsealed_fields if issubclass(model, SealedModel) else ()
    left_out = {*UNEDITED, *LEFT_OUT.get(model, ()), *unsealed}
    edits = {**EDITS.get(model, {}), **{name: f"{name} = '{pk}'" for name, pk in others.items()}}
    return {
        field.attname: edits.get(field.attname) or build_edit(field)
        for field in model._meta.concrete_fields
        if field.attname not in left_out
    }


def build_edit(field: "models.Field[Any, Any]") -> str:
    values = {
        "ArrayField": "'{{changed}}'",
        "BigIntegerField": "{} + 1",
        "BooleanField": "NOT {}",
        "CharField": "left('changed', {length})",
        "DateTimeField": "coalesce({}, now()) + interval '1 microsecond'",
        "FloatField": "{} + 0.5",
        "IntegerField": "{} + 1",
        "JSONField": "'[{{\"changed\": 1}}]'",
        "PositiveIntegerField": "coalesce({}, 0) + 1",
        "SmallIntegerField": "{} + 1",
        "TextField": "'changed'",
        "UUIDField": "gen_random_uuid()",
    }
    column = f'"{field.column}"'
    value = values[field.get_internal_type()]
    return f"{column} = " + value.format(column, length=field.max_length)


def assert_every_edit_is_withheld(
    intruder: Intruder, row: models.Model, others: Mapping[str, UUID], read: Read
) -> None:
    assert "withheld" not in read()
    model, pk = type(row), row.pk
    for column, edit in list_edits(model, others).items():
        with edited(intruder, model._meta.db_table, pk, edit):
            assert read().get("withheld"), column
    assert "withheld" not in read()


def test_columns_of_rules(acme: Account, agent: Agent, intruder: Intruder) -> None:
    rule = add_rule(acme, "No curl", "active")

    def read() -> dict[str, Any]:
        rule_cache._cache.clear()  # noqa: SLF001 - as in a new process
        answer: dict[str, Any] = agent.post("memory/rules/evaluate", {"context": {}}, 200)
        return answer

    assert_every_edit_is_withheld(intruder, rule, {}, read)


@pytest.mark.parametrize(
    "model", [KnowledgeSource, KnowledgeDocument, KnowledgeText, KnowledgeChunk]
)
def test_columns_of_documents(
    acme: Account, agent: Agent, intruder: Intruder, model: type[models.Model]
) -> None:
    deliver(acme, {"docs.md": "# Keys"})  # so that its next text has another version than others
    pairs = [
        deliver(acme, {f"{name}.md": GUIDE}, name=name).documents for name in ("docs", "others")
    ]
    makers.settle()
    with acting(acme):
        rows = KnowledgeChunk.objects.of(acme).select_related("document__source", "text_row")
        chunk, other = [rows.filter(document=pair[0]).order_by("chunk_index")[0] for pair in pairs]
    rows_to_edit: dict[type[models.Model], tuple[models.Model, dict[str, UUID]]] = {
        KnowledgeSource: (chunk.document.source, {}),
        KnowledgeDocument: (chunk.document, {"source_id": other.document.source_id}),
        KnowledgeText: (chunk.text_row, {"document_id": other.document_id}),
        KnowledgeChunk: (
            chunk,
            {"document_id": other.document_id, "text_row_id": other.text_row_id},
        ),
    }
    row, others = rows_to_edit[model]

    def read() -> dict[str, Any]:
        verify_chunks._texts.clear()  # noqa: SLF001 - as in a new process
        body = agent.client.post("/v1/knowledge/get", {"id": str(chunk.pk)}, format="json").json()
        answer: dict[str, Any] = body
        return answer

    assert_every_edit_is_withheld(intruder, row, others, read)


def test_columns_of_lore(acme: Account, agent: Agent, intruder: Intruder) -> None:
    with acting(acme):
        book, other = [
            ensure_source(acme.pk, SYSTEM, NewSource(name=name, kind="lorebook"))
            for name in ("lore", "other")
        ]
        content = {"content": "Lore.", "keys": ["tea"]}
        [entry, disabled] = add_entries(book, SYSTEM, [content, {**content, "enabled": False}])

    def read() -> dict[str, Any]:
        body = {"messages": ["Some tea?"]}
        answer: dict[str, Any] = agent.post("knowledge/lorebook/evaluate", body, 200)
        return answer

    with edited(intruder, "knowledge_lorebookentry", disabled.pk, "enabled = true"):
        assert read()["withheld"] == 1
    assert_every_edit_is_withheld(intruder, entry, {"source_id": other.pk}, read)
