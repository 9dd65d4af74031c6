"""Writing to the ledger with `recording`."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import urandom
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account, SealedModel
from kmapp.database.advisory_locks import LOCK
from kmapp.database.bulk_insert import insert_rows
from kmapp.database.ids import uuid7
from kmapp.ledger.canonical import SALT_BYTES, canonical, digest, digest_encoded
from kmapp.ledger.chain import BEGINNING, Head, commit_hash
from kmapp.ledger.checkpoint_status import Behind, last_signed
from kmapp.ledger.models import Commit, Note, Seal

Sealable = SealedModel | Account
LOCK_AFTER_INSERT = f"{LOCK} FROM inserted"
# A constant, because building it takes Django longer than running it takes Postgres.
HEAD = """
SELECT head.seq, head.commit_hash, EXISTS (
  SELECT FROM ledger_commit WHERE account_id = %s AND seq = %s AND commit_hash = %s
) FROM ledger_commit head WHERE account_id = %s ORDER BY seq DESC LIMIT 1
"""


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
    seals: list[Seal] = field(default_factory=list)
    erased: list[UUID] = field(default_factory=list)
    commit: Commit | None = None  # set when the block ends

    def add(self, row: Sealable, op: str, body: bytes | None = None) -> None:
        """Seal a row as it is now, after the change; `body` is its canonical body, if known."""
        salt = urandom(SALT_BYTES)
        seal = Seal(
            account_id=self.account_id,
            commit_id=self.id,
            object_type=row._meta.label_lower,
            object_id=row.pk,
            op=op,
            salt=salt,
        )
        self.seals.append(seal)
        sealed = digest_encoded(salt, canonical(row.body()) if body is None else body)
        self._add_change(seal.object_type, row.pk, op, sealed)

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
) -> Iterator[Recording]:
    """Record one change of primary data. Inside `acting`; an empty recording writes nothing.

    Write rows in the block: the lock of the chain comes last, held for two statements only.
    A chain that is not the signed one refuses new commits, unless the commit `accepts_loss`.
    """
    draft = Recording(
        account_id=account_id, actor=actor, input=input, reason=reason, accepts_loss=accepts_loss
    )
    yield draft
    if draft.diff:
        _write(draft)


def _write(draft: Recording) -> None:
    seals = draft.seals
    if draft.erased:
        insert_rows(seals)
        Seal.objects.of(draft.account_id).filter(object_id__in=draft.erased).delete()
        seals = []
    contents = {"input": draft.input, "reason": draft.reason}
    salt = urandom(SALT_BYTES)
    note = Note(account_id=draft.account_id, commit_id=draft.id, salt=salt, **contents)
    # One writer per chain until the transaction ends: without the lock, chains fork.
    insert_rows(seals, [note], then=LOCK_AFTER_INSERT, parameters=[f"ledger:{draft.account_id}"])
    seq, parent_hash = _load_head(draft.account_id, accepts_loss=draft.accepts_loss)
    draft.commit = Commit(
        id=draft.id,
        account_id=draft.account_id,
        seq=seq + 1,
        parent_hash=parent_hash,
        actor=str(draft.actor),
        created_at=timezone.now(),
        input_digest=digest(salt, contents),
        diff=draft.diff,
    )
    draft.commit.commit_hash = commit_hash(draft.commit.link())
    insert_rows([draft.commit])


def _load_head(account_id: UUID, *, accepts_loss: bool) -> Head:
    """Return the last commit as a statement of its own, which sees what the lock waited for."""
    signed = last_signed(account_id)  # before the statement, which therefore sees this commit
    with connection.cursor() as cursor:
        expected = [signed.seq, signed.commit_hash] if signed else [None, None]
        cursor.execute(HEAD, [account_id, *expected, account_id])
        row: tuple[int, str, bool] = cursor.fetchone() or (*BEGINNING, False)
    head, is_signed = Head(*row[:2]), row[2]
    if signed and signed.head != BEGINNING and not is_signed and not accepts_loss:
        raise Behind(account_id=account_id, signed=signed.seq, ends=head.seq).error()
    return head
