"""Everything that an account stores under the id of one person (`user_id`)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection
from django.db.models import Count, Model, QuerySet, Value
from django.db.models.expressions import RawSQL

from context.models import (
    ContextBody,
    ContextCostReport,
    ContextInput,
    ContextSummary,
    ToolResultArchive,
)
from kmapp.accounts.acting import acting
from kmapp.database.server_response_timeout import extend_statement_timeout
from memory.models import (
    Extraction,
    Judgement,
    MemoryEntry,
    MemoryRating,
    MemoryVersion,
    RankingComparison,
)
from rules.models import RuleDecision, RuleFeedback

PAGE = 200  # rows read in one transaction
INTERNAL = {"account_id", "commit_id", "written_sha256", "sent_sha256", "results"}
PARTS_SECONDS = 60  # for a statement that reads all call inputs of a person
# The parts of calls and summaries: messages, and in `rest` tools, sections and retrieved texts.
PARTS_SQL = """
SELECT unnest(i.messages || i.tools || ARRAY(
  SELECT (part #>> '{}')::uuid
    FROM jsonb_to_record(i.rest) AS r (tools jsonb, sections jsonb, snippets jsonb),
    LATERAL (
      SELECT jsonb_path_query(r.tools, '$[*]')
      UNION ALL SELECT jsonb_path_query(r.sections, '$[*].text')
      UNION ALL SELECT jsonb_path_query(r.snippets, '$[*].text')) AS parts (part)))
FROM context_contextinput i
JOIN context_contextcostreport r ON r.account_id = i.account_id AND r.id = i.report_id
WHERE i.account_id = %s AND r.user_id = %s
UNION SELECT unnest(bodies) FROM context_contextsummary WHERE account_id = %s AND user_id = %s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSource:
    """Rows of one model that belong to a person, by the lookup of the person's id."""

    name: str
    model: type[Any]
    lookup: str = "user_id"

    def rows(self, account_id: UUID, user_id: str) -> "QuerySet[Any]":
        rows: QuerySet[Any] = self.model.objects.filter(
            account_id=account_id, **{self.lookup: user_id}
        )
        return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class PartsSource(RecordSource):
    """Parts of the calls of a person, which may be parts of other calls too."""

    def rows(self, account_id: UUID, user_id: str) -> "QuerySet[Any]":
        owner = [account_id, user_id]
        parts = RawSQL(PARTS_SQL, [*owner, *owner])  # noqa: S611 - a constant
        rows: QuerySet[Any] = self.model.objects.filter(account_id=account_id, pk__in=parts)
        return rows


# `memory.actions.erasure` and the registered personal data handlers erase all of them.
SOURCES = (
    RecordSource(name="memory", model=MemoryEntry),
    RecordSource(name="memory_version", model=MemoryVersion, lookup="entry__user_id"),
    RecordSource(name="rating", model=MemoryRating, lookup="entry__user_id"),
    RecordSource(name="extraction", model=Extraction),
    RecordSource(name="judgement", model=Judgement),
    RecordSource(name="ranking_comparison", model=RankingComparison),
    RecordSource(name="tool_result", model=ToolResultArchive),
    RecordSource(name="call", model=ContextCostReport),
    RecordSource(name="call_input", model=ContextInput, lookup="report__user_id"),
    PartsSource(name="call_part", model=ContextBody),
    RecordSource(name="conversation_summary", model=ContextSummary),
    RecordSource(name="rule_decision", model=RuleDecision),
    RecordSource(name="rule_feedback", model=RuleFeedback, lookup="decision__user_id"),
)


def count_rows(account_id: UUID, user_id: str, *, with_parts: bool) -> dict[str, int]:
    """Return the number of rows by source, from one query. Inside `acting`.

    With parts of calls, it reads all call inputs of the person, which may take long.
    """
    sources = [source for source in SOURCES if with_parts or not isinstance(source, PartsSource)]
    if with_parts:
        extend_statement_timeout(connection, PARTS_SECONDS)
    first, *others = [
        source.rows(account_id, user_id)
        .order_by()
        .values(row_kind=Value(source.name))
        .annotate(number=Count("pk"))
        for source in sources
    ]
    counts = {row["row_kind"]: row["number"] for row in first.union(*others, all=True)}
    return {source.name: counts.get(source.name, 0) for source in sources}


def export_person(account_id: UUID, user_id: str) -> Iterator[bytes]:
    """Yield one JSON line for each row, with its source as `type`.

    Rows are read in transactions of `PAGE` rows. Vectors and postings are left out: they are
    derived from the texts.
    """
    for source in SOURCES:
        with acting(account_id):
            extend_statement_timeout(connection, PARTS_SECONDS)
            ids = list(source.rows(account_id, user_id).order_by("pk").values_list("pk", flat=True))
        for start in range(0, len(ids), PAGE):
            page = ids[start : start + PAGE]
            with acting(account_id):
                rows = source.model.objects.filter(account_id=account_id).in_bulk(page)
            yield b"".join(_line(source.name, rows[pk]) for pk in page if pk in rows)


def _line(name: str, row: Model) -> bytes:
    columns = {
        field.attname: field.value_from_object(row)
        for field in row._meta.concrete_fields
        if field.attname not in INTERNAL
    }
    text = json.dumps({"type": name, **columns}, cls=DjangoJSONEncoder, ensure_ascii=False)
    return text.encode() + b"\n"
