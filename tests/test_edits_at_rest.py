"""Kinds of edits at rest, each by a superuser of the database: all are reported by fsck.

T1 to T9 are the names of the public suite agmi (PyPI: agent-memory-integrity). Each field of every
table is edited in tests/kernel/fsck/test_rows.py.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connections

from kmapp.accounts.models import Account
from kmapp.ledger.checkpoint_thread import CheckpointThread
from kmapp.ledger.verified_commit_cache import commit_cache
from tests import makers
from tests.agent import Agent
from tests.databases import clone, drop, use_database
from tests.kernel.fsck.tampering import Intruder, intrude
from tests.kernel.test_older_store import fsck
from tests.promises.plugin import RecordFigure
from tests.sealed_reads import assert_withheld, edited, read

pytestmark = [pytest.mark.usefixtures("committed"), pytest.mark.promise(27)]

TABLE = "memory_memoryentry"
OWNER = {"user_id": "ana"}
Edit = Callable[[Intruder, UUID], AbstractContextManager[UUID]]


@contextmanager
def restored(intruder: Intruder, table: str, condition: str, *params: Any) -> Iterator[None]:
    """Put these rows back after the block."""
    rows = f"saved_{table}"
    intruder.run(f"CREATE TEMP TABLE {rows} AS SELECT * FROM {table} WHERE {condition}", *params)  # noqa: S608
    try:
        yield
    finally:
        intruder.run(f"DELETE FROM {table} WHERE id IN (SELECT id FROM {rows})")  # noqa: S608
        intruder.run(f"INSERT INTO {table} SELECT * FROM {rows}; DROP TABLE {rows}")  # noqa: S608


def assign(assignment: str) -> Edit:
    """Return an edit of columns; it yields the id of the edited memory."""

    @contextmanager
    def edit(intruder: Intruder, pk: UUID) -> Iterator[UUID]:
        with edited(intruder, TABLE, pk, assignment):
            yield pk

    return edit


def replay(condition: str) -> Edit:
    """Return an edit that writes the content of a genuine memory over another one."""
    return assign(
        f"content = (SELECT content FROM {TABLE} WHERE {condition} ORDER BY created_at LIMIT 1)"  # noqa: S608
    )


@contextmanager
def delete_row(intruder: Intruder, pk: UUID) -> Iterator[UUID]:
    with restored(intruder, TABLE, "id = %s", pk):
        intruder.run(f"DELETE FROM {TABLE} WHERE id = %s", pk)  # noqa: S608
        yield pk


@contextmanager
def delete_last_two(intruder: Intruder, pk: UUID) -> Iterator[UUID]:
    """Delete the last two memories with all that the ledger has of them."""
    last = intruder.run(
        f"SELECT commit_id FROM {TABLE} WHERE user_id = 'ana' ORDER BY created_at DESC LIMIT 2"  # noqa: S608
    ).fetchall()
    commits = [commit for [commit] in last]
    rows = {
        TABLE: "commit_id",
        "memory_memoryversion": "commit_id",
        "ledger_seal": "commit_id",
        "ledger_note": "commit_id",
        "ledger_commit": "id",
    }
    with ExitStack() as stack:
        for table, column in rows.items():
            stack.enter_context(restored(intruder, table, f"{column} = ANY(%s)", commits))
            intruder.run(f"DELETE FROM {table} WHERE {column} = ANY(%s)", commits)  # noqa: S608
        yield pk


@contextmanager
def exchange_contents(intruder: Intruder, pk: UUID) -> Iterator[UUID]:
    """Exchange the contents of a memory and of the one before it."""
    before = intruder.one(
        f"SELECT id FROM {TABLE} WHERE user_id = 'ana' AND created_at"  # noqa: S608
        f" < (SELECT created_at FROM {TABLE} WHERE id = %s) ORDER BY created_at DESC LIMIT 1",
        pk,
    )
    pair = [pk, before]
    with restored(intruder, TABLE, "id = ANY(%s)", pair):
        changed = intruder.run(
            f"UPDATE {TABLE} AS one SET content = other.content FROM {TABLE} AS other"  # noqa: S608
            " WHERE one.id <> other.id AND one.id = ANY(%s) AND other.id = ANY(%s)",
            pair,
            pair,
        )
        assert changed.rowcount == 2
        yield pk


@contextmanager
def insert_row(intruder: Intruder, pk: UUID) -> Iterator[UUID]:
    """Insert another memory, without a record in the ledger, that searches find."""
    twin = uuid4()
    columns = ", ".join(set(intruder.columns(TABLE)) - {"id", "client_id", "content"})
    intruder.run(
        f"INSERT INTO {TABLE} (id, content, {columns})"  # noqa: S608
        f" SELECT %s, 'The spare key was sold.', {columns} FROM {TABLE} WHERE id = %s",
        twin,
        pk,
    )
    move = "UPDATE search_indexeddocument SET document = %s WHERE document = %s"
    intruder.run(move, twin, pk)
    yield twin
    intruder.run(move, pk, twin)
    intruder.run(f"DELETE FROM {TABLE} WHERE id = %s", twin)  # noqa: S608


@contextmanager
def exchange_commits(intruder: Intruder, pk: UUID) -> Iterator[UUID]:
    """Exchange the commit of a memory and the one before it."""
    account, seq = intruder.run(
        f"SELECT c.account_id, c.seq FROM ledger_commit c JOIN {TABLE} t ON t.commit_id = c.id"  # noqa: S608
        " WHERE t.id = %s",
        pk,
    ).fetchone() or (None, 0)

    def exchange() -> None:
        for old, new in ((seq, 0), (seq - 1, seq), (0, seq - 1)):
            intruder.run(
                "UPDATE ledger_commit SET seq = %s WHERE account_id = %s AND seq = %s",
                new,
                account,
                old,
            )

    exchange()
    yield pk
    exchange()


TRUNCATION, DELETION = "T2 the last two memories deleted", "T3 a memory between others deleted"
FORGERY, OLD_VERSION = "T5 a memory inserted", "T7 the previous version written over a memory"
OWNER_CHANGE, REVIVAL = "T8 another owner", "T8 a forgotten memory active"
OLDER_STORE = "T9 an older copy of the whole store"
EDITS: dict[str, Edit] = {
    "T1 other content": assign("content = 'The spare key was sold.'"),
    DELETION: delete_row,
    "T4 contents of two memories exchanged": exchange_contents,
    FORGERY: insert_row,
    "T6 content of another user": replay("user_id = 'eve'"),
    "T6 content of another account": replay("user_id = 'rita'"),
    "T7 content of the first memory written over a later one": replay("user_id = 'ana'"),
    OLD_VERSION: assign(
        "content = (SELECT state->>'content' FROM memory_memoryversion v"
        " WHERE v.entry_id = memory_memoryentry.id AND v.version = 1),"
        " version = 1, commit_id = written_in, updated_at = created_at"
    ),
    OWNER_CHANGE: assign("user_id = 'bob'"),
    "T8 visible to everyone": assign("visibility = 'account'"),
    REVIVAL: assign("status = 'active'"),
    "T8 another time": assign("created_at = created_at - interval '1 day'"),
    "two commits exchanged": exchange_commits,
    TRUNCATION: delete_last_two,  # its memory is the last one
}


@pytest.fixture
def agent(acme: Account) -> Agent:
    return makers.agent(acme, ["memory:read", "memory:write"])


@pytest.fixture(autouse=True)
def others(agent: Agent, rival: Account) -> None:
    """Write a memory of another user, and one of another account."""
    agent.store("The safe is behind the painting.", user_id="eve")
    rival_agent = makers.agent(rival, ["memory:write"])
    rival_agent.store("The vault opens at noon.", user_id="rita")
    agent.store("First.", **OWNER)


def write_memories(agent: Agent) -> dict[str, UUID]:
    """Write a memory for each kind of edit, in a commit of its own; sign the last commit."""
    pks = {}
    for name in EDITS:
        pks[name] = UUID(agent.store(f"Key {name} is in the blue box.", **OWNER))
        if name == OLD_VERSION:
            agent.post("memory/update", {"id": str(pks[name]), "text": "Key lost.", **OWNER}, 200)
        if name == REVIVAL:
            agent.post("memory/forget", {"id": str(pks[name]), **OWNER})
    makers.settle()
    CheckpointThread().run_once()
    return pks


def test_edits_at_rest_are_reported_by_fsck(
    committed: str, agent: Agent, record_figure: RecordFigure
) -> None:
    """Edits are reported in the default configuration, in which reads are not verified."""
    connections.close_all()
    older = f"{committed}_older"
    clone(older, template=committed)
    pks = write_memories(agent)
    assert fsck()["problems"] == []
    reported = set()
    with intrude(committed) as intruder:
        for name, edit in EDITS.items():
            with edit(intruder, pks[name]):
                if fsck()["problems"]:
                    reported.add(name)
            assert fsck()["problems"] == [], f"{name}: it was not undone"
    use_database(older)
    try:
        if fsck()["problems"]:
            reported.add(OLDER_STORE)
    finally:
        drop(older)
        use_database(committed)
    record_figure(f"{len(reported)} of {len(EDITS) + 1} kinds of edit reported")
    assert reported == {*EDITS, OLDER_STORE}


def test_edited_rows_are_withheld_from_agents_that_verify(
    committed: str, acme: Account, agent: Agent
) -> None:
    """A deleted row is not returned, and an older store is read-only: they are left out."""
    makers.set_policy(acme, {"verify_on_read": True})
    pks = write_memories(agent)
    for name in EDITS.keys() - {TRUNCATION, DELETION}:
        owner = {"user_id": "bob"} if name == OWNER_CHANGE else OWNER
        query = {"query": "Where is the key?", "limit": 50, **owner}
        with intrude(committed) as intruder, EDITS[name](intruder, pks[name]) as pk:
            commit_cache.clear()
            answers = {**read(agent, pk, owner), "search": agent.post("memory/search", query, 200)}
            assert answers["get"]["error"] == "withheld", name
            for part in ("search", "list"):
                assert answers[part].get("withheld"), (name, part)
                assert str(pk) not in str(answers[part]["results"]), (name, part)
            assert_withheld({"get": answers["get"]}, pk)
        commit_cache.clear()
    assert len(agent.search("Where is the key?", limit=50, **OWNER)) == len(EDITS)
