"""Verification of a chain inside the product. `manage.py fsck` verifies more, independently."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any
from uuid import UUID

from django.db.models import F, Func, IntegerField, Sum, Window

from kmapp.accounts.acting import acting
from kmapp.ledger.canonical import digest
from kmapp.ledger.chain import EMPTY_CHAIN_HEAD, Head, compute_commit_hash, verify_links
from kmapp.ledger.chain_deviations import find_deviation, find_newest_checkpoint
from kmapp.ledger.models import Commit, Seal

BLOCK_COMMITS = 2000  # commits a transaction
BLOCK_BYTES = 4 * 2**20  # of their changes as stored, after which a block ends
CHUNK_COMMITS = 50  # commits that the database sends at a time
MAX_PROBLEMS = 20  # after these, reading stops
MAX_COMMITS = 50_000  # commits that are read in one request
MAX_BYTES = 64 * 2**20  # of their changes as stored, after which a request reads no more blocks
STORED_BYTES = Func("diff", function="pg_column_size", output_field=IntegerField())


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationResult:
    commits: int  # the number of the last commit that was read
    head: str
    problems: tuple[str, ...]
    checkpoint: dict[str, Any] | None
    after: int = 0  # the number of the commit before the first that was read
    unread_commits: int = 0  # later commits that were not read

    @property
    def ok(self) -> bool:
        return not self.problems

    @property
    def read_commits(self) -> int:
        return self.commits - self.after


def verify_account(account_id: UUID) -> VerificationResult:
    """Check every number, parent and hash of the account's chain, and its last signed head.

    A request waits for the result, so it reads at most MAX_COMMITS commits and about MAX_BYTES: of
    a longer chain the newest, or the first after the last signed head if not all of those fit.
    `manage.py fsck` reads everything.
    """
    with acting(account_id):
        deviation = find_deviation(account_id)
        problems = [deviation.explanation] if deviation else []
        commits = Commit.objects.of(account_id)
        signed = find_newest_checkpoint(account_id)
        signed_head = Head(signed.seq, signed.commit_hash) if signed else EMPTY_CHAIN_HEAD
        if signed and not deviation and not commits.at(signed_head).exists():
            problems.append(f"commit {signed.seq} differs from the signed one")
        last_seq = commits.last_seq()
        after = head = (
            EMPTY_CHAIN_HEAD if problems else _find_start(account_id, last_seq, signed_head)
        )
    blocks = stream_commit_blocks(account_id, after.seq, limit=MAX_COMMITS, max_bytes=MAX_BYTES)
    for rows in blocks:
        chain_problems = verify_links(((row.link(), row.commit_hash) for row in rows), after=head)
        problems += [
            f"commit {each.seq} {each.message}"
            for each in islice(chain_problems, MAX_PROBLEMS - len(problems))
        ]
        head = Head(rows[-1].seq, rows[-1].commit_hash)
        if len(problems) >= MAX_PROBLEMS:
            break
    return VerificationResult(
        commits=head.seq,
        head=head.commit_hash,
        problems=tuple(problems),
        checkpoint={**signed_head._asdict(), "created_at": signed.created_at} if signed else None,
        after=after.seq,
        unread_commits=max(0, last_seq - head.seq),
    )


def _find_start(account_id: UUID, last_seq: int, signed_head: Head) -> Head:
    """Return the commit after which a request reads. Inside `acting`.

    The signed head also proves commits before it, because each one names the hash of its parent.
    """
    commits: Any = Commit.objects.of(account_id)
    newest = commits.filter(seq__gt=last_seq - MAX_COMMITS)
    later_bytes = Window(Sum(STORED_BYTES), order_by=F("seq").desc())  # with the commit's own
    too_large = newest.annotate(later_bytes=later_bytes).filter(later_bytes__gt=MAX_BYTES)
    bound = max(last_seq - MAX_COMMITS, too_large.last_seq())
    start = min(bound, last_seq - 1, signed_head.seq)  # at least one commit is read
    if start == signed_head.seq:
        return signed_head
    before = commits.filter(seq__lte=start).order_by("-seq").values_list("seq", "commit_hash")
    return Head(*(before.first() or EMPTY_CHAIN_HEAD))


def stream_commit_blocks(
    account_id: UUID, after: int, *, limit: float = float("inf"), max_bytes: float = float("inf")
) -> Iterator[list[Commit]]:
    """Yield the commits after this number, one block and transaction at a time.

    Ends after `limit` commits, or with the block that reaches `max_bytes`.
    """
    while limit > 0 and max_bytes > 0:
        size = int(min(BLOCK_COMMITS, limit))
        with acting(account_id):
            rows, stored_bytes = _read_block(account_id, after, size)
        if rows:
            yield rows
        if len(rows) < size and stored_bytes < BLOCK_BYTES:
            return
        limit, max_bytes, after = limit - len(rows), max_bytes - stored_bytes, rows[-1].seq


def _read_block(account_id: UUID, after: int, size: int) -> tuple[list[Commit], int]:
    """Return at most `size` commits, fewer if they reach BLOCK_BYTES, and their bytes."""
    later: Any = Commit.objects.of(account_id).filter(seq__gt=after).order_by("seq")
    sized = later.annotate(stored_bytes=STORED_BYTES)[:size]
    rows, stored_bytes = list[Commit](), 0
    for row in sized.iterator(chunk_size=CHUNK_COMMITS):
        rows.append(row)
        stored_bytes += row.stored_bytes
        if stored_bytes >= BLOCK_BYTES:
            break
    return rows, stored_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A state of an object, and the commit that should have sealed it."""

    commit_id: UUID
    state: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Whether a commit sealed a state; without the commit, it did not."""

    commit: Commit | None
    is_sealed: bool


def verify_claims(
    account_id: UUID,
    object_type: str,
    object_id: UUID,
    claims: Iterable[Claim],
) -> dict[UUID, Proof]:
    """Return for each commit whether it sealed the claimed state. Inside `acting`.

    One query, and a second one if a seal is missing.
    """
    states = {claim.commit_id: claim.state for claim in claims}
    rows = Seal.objects.of(account_id).filter(object_type=object_type, object_id=object_id)
    seals = {
        seal.commit_id: seal for seal in rows.filter(commit_id__in=states).select_related("commit")
    }
    commits = {pk: seal.commit for pk, seal in seals.items()}
    if commit_ids_without_seal := states.keys() - commits.keys():
        commits |= Commit.objects.of(account_id).in_bulk(list(commit_ids_without_seal))
    name = f"{object_type}:{object_id}"
    return {
        pk: Proof(
            commit=commits.get(pk),
            is_sealed=pk in seals and _is_sealed(commits[pk], name, bytes(seals[pk].salt), state),
        )
        for pk, state in states.items()
    }


def _is_sealed(commit: Commit, name: str, salt: bytes, state: Mapping[str, Any]) -> bool:
    """Return whether a commit with a valid hash sealed this state. Edited rows may be malformed."""
    try:
        if compute_commit_hash(commit.link()) != commit.commit_hash:
            return False
        sealed = digest(salt, state)
    except ValueError:  # a format, a value or a salt that the writer would have refused
        return False
    changes = commit.list_changes()
    return any(change["object"] == name and change["digest"] == sealed for change in changes)
