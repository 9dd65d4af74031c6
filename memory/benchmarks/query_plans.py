"""Plans of hot queries as the application sends them.

The product's functions run and their statements are captured. Each is then explained on the same
connection with the same values: as the app role, never prepared.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import count
from time import perf_counter
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection, connections
from psycopg.pq.abc import PGresult

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.outbox.models import Delivery
from kmapp.providers.active_models import active_model
from kmapp.providers.embedding_model_lifecycle import OWNER
from kmapp.search.allowed_objects import AllowedObjects
from kmapp.search.query_vector import QueryVector
from kmapp.search.scan_method_choice import clear_query_caches
from memory.actions.topic_editing import current_topics
from memory.benchmarks.synthetic_entries import Cloud, Writer
from memory.models import MemoryEntry, Viewer
from memory.models.entries import list_reader_groups
from memory.retrieval.candidates import collect_candidates
from memory.retrieval.list_agent_names import list_agent_names

OURS = (
    "kmapp.search.",
    "memory.retrieval.candidates",
    "memory.retrieval.result_rows",
    "memory.retrieval.run_neighbours",
    "memory.retrieval.search",
    "memory.models",
)
# Helpers that send statements for their callers.
SENDERS = frozenset({"_fetch_finite", "fetch_allowed", "_load_postings"})
PAGE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedStatement:
    """A captured statement, the function that sent it, and its result."""

    name: str
    sql: str
    parameters: Any
    milliseconds: float = 0.0  # until the result is in this process
    rows: int = 0
    size: int = 0  # bytes of the values


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    kind: str  # "Index Scan", "Seq Scan", …
    table: str
    index: str
    condition: str  # by which the index is searched


@contextmanager
def capture_statements(name: str | None = None) -> Iterator[list[CapturedStatement]]:
    """Collect the SELECTs that are sent on the app role's connection."""
    statements: list[CapturedStatement] = []

    def listen(
        execute: Callable[..., Any], sql: str, params: Any, many: object, context: Any
    ) -> Any:
        began = perf_counter()
        result = execute(sql, params, many, context)
        milliseconds = 1000 * (perf_counter() - began)
        if sql.lstrip().startswith(("SELECT", "WITH")) and "set_config" not in sql:
            rows, size = _measure_result(context["cursor"].cursor.pgresult)
            statements.append(
                CapturedStatement(
                    name=name or _sender(),
                    sql=sql,
                    parameters=params,
                    milliseconds=milliseconds,
                    rows=rows,
                    size=size,
                )
            )
        return result

    with connection.execute_wrapper(listen):
        yield statements


def _measure_result(result: PGresult | None) -> tuple[int, int]:
    """Return the rows of a result, and the bytes of its values."""
    if result is None:  # of a cursor on the server
        return 0, 0
    columns = range(result.nfields)
    values = (result.get_value(row, each) for row in range(result.ntuples) for each in columns)
    return result.ntuples, sum(len(value or b"") for value in values)


def _sender() -> str:
    """Return the nearest function of the product above the database driver."""
    frame = sys._getframe(1)  # noqa: SLF001 - the sender is only found on the stack
    while frame.f_back:
        frame = frame.f_back
        ours = str(frame.f_globals.get("__name__")).startswith(OURS)
        if ours and frame.f_code.co_name not in SENDERS:
            return frame.f_code.co_name.strip("_")
    return "?"


def collect_hot_statements(account: Account, viewer: Viewer) -> list[CapturedStatement]:
    """Return the statements of searches, lists, the review queue and triage."""
    account_id = account.pk
    clear_query_caches()
    model = active_model()
    rng = np.random.default_rng(3)
    [query] = Writer(rng).queries(1, chinese=False)
    meaning = QueryVector.from_floats(model, Cloud(model.dimensions, rng).draw(1)[0].tolist())
    with acting(account_id):
        rows = MemoryEntry.objects.of(account_id)
        seen = rows.current().visible_to(viewer)
        within = AllowedObjects.from_queryset(seen)
        with capture_statements() as statements:
            signals = collect_candidates(account_id, query, meaning, within)
            by_reader_group = replace(within, reader_groups=list_reader_groups(viewer))
            collect_candidates(account_id, query, meaning, by_reader_group)
        with capture_statements("entries found") as fetched:
            seen.in_bulk([each.id for each in signals.candidates[:10]])
        with capture_statements("list page") as page:
            list(rows.order_by("-created_at", "-pk").with_embedding_state(model.pk)[:PAGE])
        with capture_statements("review queue") as queue:
            list(rows.awaiting_review()[:PAGE])
        with capture_statements("topics") as topics:
            list(current_topics(account_id)[:PAGE])
        with capture_statements("agents") as agents:
            list_agent_names(account_id)
        with capture_statements("dead letters") as dead:
            list(Delivery.objects.of(account_id).dead().order_by("-failed_at")[:PAGE])
    return [*statements, *fetched, *page, *queue, *topics, *agents, *dead]


def list_whole_table_reads(account: Account, viewer: Viewer) -> list[str]:
    """Return a message for each hot statement that reads a whole table."""
    problems = []
    for statement in collect_hot_statements(account, viewer):
        with acting(account):
            tables = filter_sequential_scans(list_scans(statement))
        problems += [f"{account.slug}: {statement.name} reads all of {table}" for table in tables]
    return problems


def build_claim_statements() -> list[CapturedStatement]:
    """Return the statements inside the function `claim_deliveries`, as the owner."""
    due = import_module("kmapp.migrations.0002_queue_functions").DUE
    start = "SELECT d.account_id, d.handler FROM outbox_delivery d WHERE"
    lock = "FOR UPDATE SKIP LOCKED"
    handlers = ["memory.handlers.embed", "memory.handlers.order"]
    return [
        CapturedStatement(
            name="outbox head",
            sql=f"{start} {due} AND d.handler = ANY (%s) ORDER BY d.due_at LIMIT 1 {lock}",
            parameters=[handlers],
        ),
        CapturedStatement(
            name="outbox batch",
            sql=f"{start} {due} AND d.account_id = %s AND d.handler = %s "
            f"ORDER BY d.due_at LIMIT 32 {lock}",
            parameters=[UUID(int=1), handlers[0]],
        ),
    ]


def explain(statement: CapturedStatement, *, owner: bool = False) -> str:
    """Execute a statement, and return its plan with times. Inside `acting`."""
    with connections[OWNER if owner else "default"].cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS) {statement.sql}", statement.parameters)
        return "\n".join(row[0] for row in cursor.fetchall())


def load_planning_time(statement: CapturedStatement) -> float:
    """Return the milliseconds that PostgreSQL takes to plan a statement. Inside `acting`."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (SUMMARY, FORMAT JSON) {statement.sql}", statement.parameters)
        [[[plan]]] = cursor.fetchall()
    return float(plan["Planning Time"])


def list_scans(statement: CapturedStatement, *, owner: bool = False) -> list[Scan]:
    """Return how the plan reads each table. Inside `acting`."""
    with connections[OWNER if owner else "default"].cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {statement.sql}", statement.parameters)
        [[[plan]]] = cursor.fetchall()
    return list(_walk_plan(plan["Plan"]))


def list_generic_scans(statement: CapturedStatement) -> list[Scan]:
    """Return how a plan for unknown values reads each table. Inside `acting`."""
    numbers = count(1)
    sql = re.sub("%s", lambda _: f"${next(numbers)}", statement.sql)
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (GENERIC_PLAN, FORMAT JSON) {sql}")
        [[[plan]]] = cursor.fetchall()
    return list(_walk_plan(plan["Plan"]))


def _walk_plan(node: dict[str, Any]) -> Iterator[Scan]:
    if "Relation Name" in node or "Index Name" in node:
        yield Scan(
            kind=node["Node Type"],
            table=node.get("Relation Name", ""),
            index=node.get("Index Name", ""),
            condition=node.get("Index Cond", ""),
        )
    for below in node.get("Plans", ()):
        yield from _walk_plan(below)


def filter_sequential_scans(scans: Sequence[Scan]) -> list[str]:
    """Return the tables that a plan reads as a whole."""
    return [scan.table for scan in scans if scan.kind == "Seq Scan"]
