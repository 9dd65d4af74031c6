"""Writing to the ledger with `recording`."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import attrgetter
from os import urandom
from typing import Any, NamedTuple
from uuid import UUID

from django.utils import timezone

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account, SealedModel, is_sealed
from kmapp.database.advisory_locks import ADVISORY_LOCK_SQL
from kmapp.database.bulk_insert import NewRows, insert_rows, mark_inserted
from kmapp.database.ids import uuid7
from kmapp.database.psycopg_cursors import prepared_cursor
from kmapp.ledger.canonical import (
    SALT_BYTES,
    digest,
    digest_encoded,
    encode_canonical,
    encode_canonical_records,
)
from kmapp.ledger.chain import EMPTY_CHAIN_HEAD, GENESIS_HASH, build_hash_prefix
from kmapp.ledger.chain_deviations import describe_deviation, find_last_signed
from kmapp.ledger.models import Commit, Note, Seal

Sealable = SealedModel | Account
LOCK_AFTER_INSERT = f"{ADVISORY_LOCK_SQL} FROM inserted"
# The database completes the hash that `chain.compute_commit_hash` defines, so that the lock is held
# for one statement only. Nothing is inserted if the chain does not contain the last signed head, or
# if there is no signed head in the file, although the database has a copy of one.
APPEND_COMMIT_SQL = """
WITH head AS (
  SELECT seq, commit_hash FROM ledger_commit WHERE account_id = %s::uuid ORDER BY seq DESC LIMIT 1
), link AS (
  SELECT coalesce(max(seq), 0) + 1 AS seq, coalesce(max(commit_hash), %s::text) AS parent_hash
  FROM head
)
INSERT INTO ledger_commit
  (id, account_id, format, actor, created_at, input_digest, diff, seq, parent_hash, commit_hash)
SELECT %s::uuid, %s::uuid, %s::smallint, %s::text, %s::timestamptz, %s::text, %s::jsonb, seq,
  parent_hash,
  encode(sha256(convert_to(%s::text || parent_hash || '","seq":' || seq || '}', 'UTF8')), 'hex')
FROM link
WHERE %s::boolean OR EXISTS (
  SELECT FROM ledger_commit WHERE account_id = %s::uuid AND seq = %s::bigint AND commit_hash = %s
) OR %s::boolean AND NOT EXISTS (SELECT FROM ledger_checkpoint WHERE account_id = %s::uuid)
RETURNING seq, parent_hash, commit_hash
"""


class NewSeal(NamedTuple):
    """The salt of one digest of a commit that is being prepared."""

    object_type: str
    object_id: UUID
    op: str
    salt: bytes


@dataclass
class Recording:
    """A commit that is being prepared. Rows refer to its `id` before it is written."""

    account_id: UUID
    actor: Actor
    input: Any
    reason: str
    accepts_loss: bool = False  # the chain need not be the signed one
    id: UUID = field(default_factory=uuid7)
    diff: list[dict[str, str | None]] = field(default_factory=list)
    seals: list[NewSeal] = field(default_factory=list)
    erased: list[UUID] = field(default_factory=list)
    commit: Commit | None = None  # set when the block ends

    def add(self, row: Sealable, op: str, body: bytes | None = None) -> None:
        """Seal a row as it is now, after the change; `body` is its canonical body, if known."""
        salt = urandom(SALT_BYTES)
        seal = NewSeal(row._meta.label_lower, row.pk, op, salt)
        self.seals.append(seal)
        sealed = digest_encoded(salt, encode_canonical(row.body()) if body is None else body)
        self._add_change(seal.object_type, row.pk, op, sealed)

    def insert(self, row: Sealable) -> None:
        """Insert a row as part of this commit, and seal it."""
        if isinstance(row, SealedModel):
            row.commit_id = self.id
        row.save(force_insert=True)
        self.add(row, "ADD")

    def update(self, row: Sealable, *columns: str) -> None:
        """Store columns of a row as part of this commit, and seal the row."""
        if isinstance(row, SealedModel):
            row.commit_id = self.id
            columns = (*columns, "commit")
        row.save(update_fields=columns)
        self.add(row, "UPDATE")

    def delete(self, row: SealedModel) -> None:
        """Delete a row, and record that it is erased."""
        self.erase(row._meta.label_lower, row.pk)
        row.delete()

    def add_all(self, rows: Iterable[Sealable], op: str) -> None:
        for row in rows:
            self.add(row, op)

    def erase(self, object_type: str, object_id: UUID) -> None:
        """Record that an object is erased. Deleting its salts makes its digests meaningless."""
        self.erased.append(object_id)
        self._add_change(object_type, object_id, "ERASE", None)

    def _add_change(self, object_type: str, object_id: UUID, op: str, sealed: str | None) -> None:
        self.diff.append({"object": f"{object_type}:{object_id}", "op": op, "digest": sealed})


@contextmanager
def recording(
    account_id: UUID,
    actor: Actor,
    *,
    input: Any = None,  # noqa: A002 - the name of the column
    reason: str = "",
    accepts_loss: bool = False,
    within: Recording | None = None,
) -> Iterator[Recording]:
    """Record one change of primary data. Inside `acting`; an empty recording writes nothing.

    Write rows in the block: the lock of the chain comes last, held for one statement only.
    A chain that is not the signed one refuses new commits, unless the commit `accepts_loss`.
    With `within`, the change belongs to this larger commit, which is written later.
    """
    if within:
        yield within
        return
    draft = Recording(
        account_id=account_id, actor=actor, input=input, reason=reason, accepts_loss=accepts_loss
    )
    yield draft
    if draft.diff:
        _write_commit(draft)


def _write_commit(draft: Recording) -> None:
    seals = collect_seals(draft)
    if draft.erased:
        insert_rows(seals)
        Seal.objects.of(draft.account_id).filter(object_id__in=draft.erased).delete()
        seals = []
    contents = {"input": draft.input, "reason": draft.reason}
    salt = urandom(SALT_BYTES)
    note = Note(account_id=draft.account_id, commit_id=draft.id, salt=salt, **contents)
    # One writer per chain until the transaction ends: without the lock, chains fork.
    insert_rows(
        seals, [note], then_select=LOCK_AFTER_INSERT, parameters=[f"ledger:{draft.account_id}"]
    )
    draft.commit = Commit(
        id=draft.id,
        account_id=draft.account_id,
        seq=0,
        parent_hash=GENESIS_HASH,
        actor=str(draft.actor),
        created_at=timezone.now(),
        input_digest=digest(salt, contents),
        diff=draft.diff,
    )
    _append_commit(draft.commit, accepts_loss=draft.accepts_loss)


def collect_seals(draft: Recording) -> NewRows | list[Seal]:
    """Return the seals of a commit by column."""
    if not draft.seals:
        return []
    number = len(draft.seals)
    return NewRows(
        Seal,
        {
            "id": [uuid7() for _ in draft.seals],
            "account_id": [draft.account_id] * number,
            "commit_id": [draft.id] * number,
            **dict(zip(NewSeal._fields, zip(*draft.seals, strict=True), strict=True)),
        },
    )


def encode_bodies(rows: Sequence[SealedModel]) -> list[bytes]:
    """Return what a commit digests of rows of one model: `encode_canonical(row.body())` of each."""
    names = [
        field.attname
        for field in rows[0]._meta.concrete_fields
        if field.attname not in rows[0].unsealed_fields
    ]
    columns = zip(*map(attrgetter(*names), rows), strict=True)
    return encode_canonical_records(dict(zip(names, columns, strict=True)), is_sealed)


def _append_commit(commit: Commit, *, accepts_loss: bool) -> None:
    """Append a commit in a separate statement, which sees the commits that the lock waited for."""
    account_id = commit.account_id
    signed = find_last_signed(account_id)  # read first, so that the statement sees this commit
    head = signed.head if signed else EMPTY_CHAIN_HEAD
    loss_accepted = accepts_loss or bool(signed and head == EMPTY_CHAIN_HEAD)
    values: list[Any] = [
        account_id,
        GENESIS_HASH,
        commit.pk,
        account_id,
        commit.format,
        commit.actor,
    ]
    values += [commit.created_at, commit.input_digest, json.dumps(commit.diff)]
    values += [
        build_hash_prefix(commit.link()),
        loss_accepted,
        account_id,
        *head,
        signed is None,
        account_id,
    ]
    with prepared_cursor() as cursor:
        cursor.execute(APPEND_COMMIT_SQL, values)
        row = cursor.fetchone()
    if row is None:
        if signed is None and find_last_signed(account_id):  # signed and copied meanwhile
            _append_commit(commit, accepts_loss=accepts_loss)
            return
        raise describe_deviation(account_id, signed).error()
    commit.seq, commit.parent_hash, commit.commit_hash = row
    mark_inserted(commit)
