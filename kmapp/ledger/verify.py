"""Verification of a chain inside the product. `manage.py fsck` verifies more, independently."""

from collections.abc import Iterator
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
LONG = 50_000  # commits that are read while somebody waits


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a look at a chain found."""

    commits: int  # the number of the last one that was read
    head: str
    problems: tuple[str, ...]
    checkpoint: dict[str, Any] | None
    after: int = 0  # the signed commit that reading began with; 0: the first was read
    rest: int = 0  # how many later ones were not read

    @property
    def ok(self) -> bool:
        return not self.problems

    @property
    def read(self) -> int:
        return self.commits - self.after


def verify(account_id: UUID) -> Checked:
    """Every number, parent and hash of the account's chain, and its last signed head.

    Somebody waits for it: of a long chain, what follows the last signed head, and in no case more
    than LONG commits. Signing reads on from where it stopped, and `manage.py fsck` reads all.
    """
    with acting(account_id):
        signed = Checkpoint.objects.of(account_id).order_by("-seq").first()
        problems = _against(signed) if signed else []
        numbers = Commit.objects.of(account_id).order_by("-seq").values_list("seq", flat=True)
        last = numbers.first() or 0
    after = Head(signed.seq, signed.commit_hash) if signed and last > LONG else BEGINNING
    head = after
    for rows in _blocks(account_id, after.seq):
        verdict = verify_links(((link_of(row), row.commit_hash) for row in rows), after=head)
        problems += [
            f"commit {each.seq} {each.message}"
            for each in islice(verdict, MOST_PROBLEMS - len(problems))
        ]
        head = Head(rows[-1].seq, rows[-1].commit_hash)
        if len(problems) >= MOST_PROBLEMS:
            break
    return Checked(
        commits=head.seq,
        head=head.commit_hash,
        problems=tuple(problems),
        checkpoint=_describe_checkpoint(signed) if signed else None,
        after=after.seq,
        rest=max(0, last - head.seq),
    )


def _blocks(account_id: UUID, seq: int) -> Iterator[list[Commit]]:
    """Yield the commits after this one, a block and transaction at a time, at most LONG."""
    left = LONG
    while left > 0:
        size = min(BLOCK, left)
        with acting(account_id):
            later = Commit.objects.of(account_id).filter(seq__gt=seq)
            rows = list(later.order_by("seq")[:size])
        if rows:
            yield rows
        if len(rows) < size:
            return
        left, seq = left - size, rows[-1].seq


def link_of(row: Commit) -> Link:
    """Return a commit's row as a link of the chain."""
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


def _against(signed: Checkpoint) -> list[str]:
    there = Commit.objects.of(signed.account_id).filter(seq=signed.seq)
    if there.filter(commit_hash=signed.commit_hash).exists():
        return []
    return [f"commit {signed.seq} is not the one that was signed"]


def _describe_checkpoint(signed: Checkpoint) -> dict[str, Any]:
    return {
        "seq": signed.seq,
        "commit_hash": signed.commit_hash,
        "created_at": signed.created_at,
    }
