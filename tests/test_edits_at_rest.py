"""Nine edits at rest, each by a superuser of the database: all are reported by fsck.

Each field of every table is edited in tests/kernel/fsck/test_rows.py; these are the kinds of edit.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
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


def assign(assignment: str) -> Edit:
    """Return an edit of one column; it yields the id of the edited memory."""

    @contextmanager
    def edit(intruder: Intruder, pk: UUID) -> Iterator[UUID]:
        with edited(intruder, TABLE, pk, assignment):
            yield pk

    return edit


@contextmanager
def swap_commits(intruder: Intruder, pk: UUID) -> Iterator[UUID]:
    """Swap the commit of a memory with the one before it."""
    account, seq = intruder.run(
        f"SELECT c.account_id, c.seq FROM ledger_commit c JOIN {TABLE} t ON t.commit_id = c.id"  # noqa: S608
        " WHERE t.id = %s",
        pk,
    ).fetchone() or (None, 0)

    def swap() -> None:
        for old, new in ((seq, 0), (seq - 1, seq), (0, seq - 1)):
            intruder.run(
                "UPDATE ledger_commit SET seq = %s WHERE account_id = %s AND seq = %s",
                new,
                account,
                old,
            )

    swap()
    yield pk
    swap()


@contextmanager
def delete_row(intruder: Intruder, pk: UUID) -> Iterator[UUID]:
    intruder.run(f"CREATE TEMP TABLE deleted AS SELECT * FROM {TABLE} WHERE id = %s", pk)  # noqa: S608
    intruder.run(f"DELETE FROM {TABLE} WHERE id = %s", pk)  # noqa: S608
    yield pk
    intruder.run(f"INSERT INTO {TABLE} SELECT * FROM deleted; DROP TABLE deleted")  # noqa: S608


@contextmanager
def insert_row(intruder: Intruder, pk: UUID) -> Iterator[UUID]:
    """Insert a copy of a memory without a record in the ledger."""
    twin = uuid4()
    columns = ", ".join(set(intruder.columns(TABLE)) - {"id", "client_id"})
    intruder.run(
        f"INSERT INTO {TABLE} (id, {columns}) SELECT %s, {columns} FROM {TABLE} WHERE id = %s",  # noqa: S608
        twin,
        pk,
    )
    yield twin
    intruder.run(f"DELETE FROM {TABLE} WHERE id = %s", twin)  # noqa: S608


EDITS: dict[str, Edit] = {
    "content": assign("content = 'The spare key was sold.'"),
    "owner": assign("user_id = 'bob'"),
    "visibility": assign("visibility = 'account'"),
    "status": assign("status = 'active'"),
    "time": assign("created_at = created_at - interval '1 day'"),
    "order of commits": swap_commits,
    "deletion": delete_row,
    "insertion": insert_row,
}
OLDER_STORE = "older copy of the store"
OWNERS = {"owner": {"user_id": "bob"}}


@pytest.fixture
def agent(acme: Account) -> Agent:
    return makers.agent(acme, ["memory:read", "memory:write"])


def write_memories(agent: Agent) -> dict[str, UUID]:
    """Write a memory for each kind of edit, in a commit of its own; sign the last commit."""
    pks = {name: UUID(agent.store(f"Key {name} is in the blue box.", **OWNER)) for name in EDITS}
    agent.post("memory/forget", {"id": str(pks["status"]), **OWNER})
    makers.settle()
    CheckpointThread().run_once()
    return pks


def test_nine_edits_at_rest_are_reported_by_fsck(
    committed: str, agent: Agent, record_figure: RecordFigure
) -> None:
    """Edits are reported in the default configuration, in which reads are not verified."""
    agent.store("First.", **OWNER)
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
            assert fsck()["problems"] == [], f"{name} was not undone"
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
    """Two kinds are left out: a deleted row is not returned, an older store is read-only."""
    makers.set_policy(acme, {"verify_on_read": True})
    pks = write_memories(agent)
    for name in EDITS.keys() - {"deletion"}:
        with intrude(committed) as intruder, EDITS[name](intruder, pks[name]) as pk:
            commit_cache.clear()
            answers = read(agent, pk, OWNERS.get(name, OWNER))
            assert answers["get"]["error"] == "withheld", name
            assert str(pk) not in str(answers["list"]), name
            assert_withheld({"get": answers["get"]}, pk)
        commit_cache.clear()
