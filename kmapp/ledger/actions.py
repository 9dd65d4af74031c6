"""Writing to the ledger with `recording`."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import urandom
from typing import Any, Protocol
from uuid import UUID

from django.db import connection
from django.utils import timezone

from kmapp.accounts.actors import Actor
from kmapp.database.ids import uuid7
from kmapp.ledger.canonical import digest
from kmapp.ledger.chain import GENESIS, Link, commit_hash
from kmapp.ledger.models import Commit, Note, Seal

SALT_BYTES = 16


class Sealable(Protocol):
    """A row of truth: it knows its key and what a commit digests."""

    @property
    def pk(self) -> Any: ...
    @property
    def _meta(self) -> Any: ...
    def body(self) -> dict[str, Any]: ...


@dataclass
class Recording:
    """A commit in the making. Rows carry `id` as their commit before the commit is written."""

    account_id: UUID
    actor: Actor
    input: Any
    reason: str
    id: UUID = field(default_factory=uuid7)
    diff: list[dict[str, str | None]] = field(default_factory=list)
    seals: list[Seal] = field(default_factory=list)
    commit: Commit | None = None  # set when the block ends

    def add(self, row: Sealable, op: str) -> None:
        """Seal a row as it is now, after the change."""
        salt = urandom(SALT_BYTES)
        self._note(row._meta.label_lower, row.pk, op, digest(salt, row.body()))
        self.seals.append(
            Seal(
                account_id=self.account_id,
                commit_id=self.id,
                object_type=row._meta.label_lower,
                object_id=row.pk,
                op=op,
                salt=salt,
            )
        )

    def add_all(self, rows: Iterable[Sealable], op: str) -> None:
        for row in rows:
            self.add(row, op)

    def erase(self, object_type: str, object_id: UUID) -> None:
        """Say that an object is gone for good, and make its old digests mean nothing."""
        self._note(object_type, object_id, "ERASE", None)

    def _note(self, object_type: str, object_id: UUID, op: str, sealed: str | None) -> None:
        self.diff.append({"object": f"{object_type}:{object_id}", "op": op, "digest": sealed})


@contextmanager
def recording(
    account_id: UUID,
    actor: Actor,
    *,
    input: Any = None,  # noqa: A002 - the commit's own word
    reason: str = "",
) -> Iterator[Recording]:
    """Record one change of truth. Use inside `acting`; an empty recording writes nothing.

    Rows first, the chain's lock last: the lock is held only for the two statements that need it.
    """
    draft = Recording(account_id=account_id, actor=actor, input=input, reason=reason)
    yield draft
    if draft.diff:
        _write(draft)


def _write(draft: Recording) -> None:
    erased = [change["object"] for change in draft.diff if change["op"] == "ERASE"]
    Seal.objects.bulk_create(draft.seals, batch_size=1000)
    _forget_salts(draft.account_id, [str(name) for name in erased])
    salt = urandom(SALT_BYTES)
    Note(
        account_id=draft.account_id,
        commit_id=draft.id,
        salt=salt,
        input=draft.input,
        reason=draft.reason,
    ).save(force_insert=True)
    input_digest = digest(salt, {"input": draft.input, "reason": draft.reason})
    _lock(draft.account_id)
    head = (
        Commit.objects.of(draft.account_id).order_by("-seq").values_list("seq", "commit_hash")[:1]
    )
    seq, parent_hash = next(iter(head), (0, GENESIS))
    link = Link(
        format=1,
        id=draft.id,
        account=draft.account_id,
        seq=seq + 1,
        parent_hash=parent_hash,
        actor=str(draft.actor),
        created_at=timezone.now(),
        input_digest=input_digest,
        diff=draft.diff,
    )
    draft.commit = Commit(
        id=link.id,
        account_id=link.account,
        seq=link.seq,
        parent_hash=link.parent_hash,
        commit_hash=commit_hash(link),
        actor=link.actor,
        created_at=link.created_at,
        input_digest=link.input_digest,
        diff=link.diff,
    )
    draft.commit.save(force_insert=True)


def _lock(account_id: UUID) -> None:
    """One writer at a time per chain, until the transaction ends: without it, chains fork."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('ledger:' || %s, 0))", [str(account_id)]
        )


def _forget_salts(account_id: UUID, objects: list[str]) -> None:
    ids = [name.partition(":")[2] for name in objects]
    if ids:
        Seal.objects.of(account_id).filter(object_id__in=ids).delete()
