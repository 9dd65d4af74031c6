"""fsck checks 100,000 commits in at most 5 seconds of processor time."""

import json
from datetime import UTC, datetime, timedelta
from os import urandom
from time import process_time
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings

from kmapp.database.ids import uuid7
from kmapp.ledger.canonical import digest
from kmapp.ledger.chain import Link, compute_commit_hash
from kmapp.ledger.fsck import Options, check
from kmapp.runtime import env
from tests.kernel.fsck.fixtures import Ledger
from tests.promises.plugin import RecordFigure

COMMITS = 100_000
SECONDS = 5.0


@pytest.mark.promise(26)
@pytest.mark.long
def test_100_000_commits_take_no_more_than_5_seconds(
    ledger: Ledger, record_figure: RecordFigure
) -> None:
    _grow(ledger, COMMITS)
    key = settings.CHECKPOINT_KEY_FILE
    options = Options(
        address=env.address(settings.DATABASES["default"]),
        checkpoints=settings.CHECKPOINT_FILE,
        public_keys=[key.with_name(f"{key.name}.pub")],
        accounts=[str(ledger.account.pk)],
    )
    started = process_time()
    findings = check(options)
    seconds = process_time() - started
    record_figure(f"{findings.commits:,} commits in {seconds:.1f} s")
    assert findings.problems == []
    assert findings.commits > COMMITS
    assert seconds <= SECONDS


def _grow(ledger: Ledger, number: int) -> None:
    """Append valid commits to the chain of the account with COPY."""
    account = ledger.account.pk
    last = ledger.links()[-1]
    seq, parent, time = last.seq, compute_commit_hash(last), datetime(2026, 6, 1, tzinfo=UTC)
    commits: list[tuple[Any, ...]] = []
    notes: list[tuple[Any, ...]] = []
    for _ in range(number):
        seq, time = seq + 1, time + timedelta(seconds=1)
        salt = urandom(16)
        link = Link(
            id=uuid7(),
            account=account,
            seq=seq,
            parent_hash=parent,
            actor=f"key:{UUID(int=7)}",
            created_at=time,
            input_digest=digest(salt, {"input": None, "reason": ""}),
            diff=[{"object": f"memory.memoryentry:{UUID(int=seq)}", "op": "ERASE", "digest": None}],
        )
        parent = compute_commit_hash(link)
        values = (link.actor, time, link.input_digest, json.dumps(link.diff), account)
        commits.append((link.id, 1, seq, link.parent_hash, parent, *values))
        notes.append((uuid7(), salt, None, "", account, link.id))
    _copy(
        ledger,
        "ledger_commit (id, format, seq, parent_hash, commit_hash, actor, created_at,"
        " input_digest, diff, account_id)",
        commits,
    )
    _copy(ledger, "ledger_note (id, salt, input, reason, account_id, commit_id)", notes)
    ledger.intruder.run("ANALYZE")


def _copy(ledger: Ledger, columns: str, rows: list[tuple[Any, ...]]) -> None:
    with (
        ledger.intruder.connection.cursor() as cursor,
        cursor.copy(f"COPY {columns} FROM STDIN") as copy,
    ):
        for row in rows:
            copy.write_row(row)
