"""Checking a chain from inside the product. `manage.py fsck` checks more, with other code."""

from dataclasses import dataclass
from itertools import islice
from typing import Any
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.ledger.chain import BEGINNING, Head, Link
from kmapp.ledger.chain import verify as verify_links
from kmapp.ledger.models import Checkpoint, Commit

BLOCK = 2000  # commits a transaction
MOST_PROBLEMS = 20  # then it is broken enough to stop
LONG = 50_000  # commits that are read while a person waits


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a look at a chain found."""

    commits: int  # the number of the last one that was read
    head: str
    problems: tuple[str, ...]
    checkpoint: dict[str, Any] | None
    after: int = 0  # the signed commit that reading began with; 0: all were read

    @property
    def ok(self) -> bool:
        return not self.problems

    @property
    def read(self) -> int:
        return self.commits - self.after


def verify(account_id: UUID) -> Checked:
    """Every number, parent and hash of the account's chain, and its last signed head."""
    return _verify(account_id, BEGINNING)


def verify_soon(account_id: UUID) -> Checked:
    """The same, while a person waits: of a long chain, what follows its last signed head."""
    with acting(account_id):
        last = Commit.objects.of(account_id).order_by("-seq").first()
        signed = Checkpoint.objects.of(account_id).order_by("-seq").first()
    if last is None or signed is None or last.seq <= LONG:
        return verify(account_id)
    return _verify(account_id, Head(signed.seq, signed.commit_hash))


def _verify(account_id: UUID, after: Head) -> Checked:
    signed, problems = _against_checkpoint(account_id)
    head = after
    rows = _block(account_id, head)
    while rows:
        found = verify_links(((link_of(row), row.commit_hash) for row in rows), after=head)
        problems += [
            f"commit {each.seq} {each.message}"
            for each in islice(found, MOST_PROBLEMS - len(problems))
        ]
        head = Head(rows[-1].seq, rows[-1].commit_hash)
        more = len(rows) == BLOCK and len(problems) < MOST_PROBLEMS
        rows = _block(account_id, head) if more else []
    return Checked(
        commits=head.seq,
        head=head.commit_hash,
        problems=tuple(problems),
        checkpoint=signed,
        after=after.seq,
    )


def _block(account_id: UUID, head: Head) -> list[Commit]:
    with acting(account_id):
        later = Commit.objects.of(account_id).filter(seq__gt=head.seq)
        return list(later.order_by("seq")[:BLOCK])


def link_of(row: Commit) -> Link:
    """A commit's row as the chain sees it."""
    return Link(
        format=row.format,
        id=row.pk,
        account=row.account_id,
        seq=row.seq,
        parent_hash=row.parent_hash,
        actor=row.actor,
        created_at=row.created_at,
        input_digest=row.input_digest,
        diff=row.diff,
    )


def _against_checkpoint(account_id: UUID) -> tuple[dict[str, Any] | None, list[str]]:
    with acting(account_id):
        signed = Checkpoint.objects.of(account_id).order_by("-seq").first()
        if signed is None:
            return None, []
        there = Commit.objects.of(account_id).filter(seq=signed.seq).values_list("commit_hash")
        sealed = next(iter(there), (None,))[0]
    shown = {"seq": signed.seq, "commit_hash": signed.commit_hash, "created_at": signed.created_at}
    if sealed != signed.commit_hash:
        return shown, [f"commit {signed.seq} is not the one that was signed"]
    return shown, []
