"""Signed heads of chains: comparison with the chains, and signing of heads that moved.

A database restored to an earlier day is consistent in itself; only the signed file shows that
commits are missing. Every start, the health check and the pages compare both and trust the file.
`manage.py fsck` also checks the signatures.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from pathlib import Path
from threading import Lock
from uuid import UUID

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.models import account_ids
from kmapp.accounts.sweep import sweep
from kmapp.ledger.chain import BEGINNING, Head, Problem, verify
from kmapp.ledger.models import Checkpoint, Commit
from kmapp.ledger.signing import Signed, Statement, append, parse, sign, signing_key
from kmapp.ledger.verify import commit_blocks

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """An account whose chain is not the one that was signed."""

    account_id: UUID
    signed: int  # the number of the last signed commit
    ends: int  # the number of the last commit in the database

    def __str__(self) -> str:
        if self.ends < self.signed:
            return f"ends at commit {self.ends}, but commit {self.signed} was signed"
        return f"has a commit {self.signed} that differs from the signed one"


def behind(account_id: UUID) -> Behind | None:
    """Return what is missing of an account's chain. One query if nothing is missing."""
    signed = last_signed().get(account_id)
    if signed is None:
        return None
    with acting(account_id):
        commits = Commit.objects.of(account_id)
        if commits.at(signed).exists():
            return None
        return Behind(account_id=account_id, signed=signed.seq, ends=commits.last_seq())


def all_behind() -> list[Behind]:
    """Return what is missing of every account, including deleted ones."""
    all_account_ids = sorted({*account_ids(), *last_signed()})
    return [chain for account_id in all_account_ids if (chain := behind(account_id))]


def last_signed() -> Mapping[UUID, Head]:
    """Return the last signed head of each account, from the configured file."""
    with _lock:
        file = _files.setdefault(settings.CHECKPOINT_FILE, _File(settings.CHECKPOINT_FILE))
        return file.heads()


@dataclass
class _File:
    """The file, read once; afterwards only the lines added to it."""

    path: Path
    inode: int = 0
    offset: int = 0
    _heads: dict[UUID, Head] = field(default_factory=dict)

    def heads(self) -> Mapping[UUID, Head]:
        if not self.path.exists():
            return {}
        with self.path.open("rb") as file:
            status = self.path.stat()
            if status.st_ino != self.inode or status.st_size < self.offset:  # another file
                self.inode, self.offset, self._heads = status.st_ino, 0, {}
            file.seek(self.offset)
            for line in file:
                if not line.endswith(b"\n"):  # being written, or cut short by a crash
                    break
                self.offset += len(line)
                if record := parse(line):
                    account_id, head = record.statement.account, record.statement.head
                    if head.seq >= self._heads.get(account_id, BEGINNING).seq:
                        self._heads[account_id] = head
        return dict(self._heads)


_files: dict[Path, _File] = {}
_lock = Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Signing:
    """A head to sign; with a problem, nothing is signed."""

    account_id: UUID
    head: Head
    problem: Problem | None = None


def checkpoint() -> list[Signing]:
    """Sign every head that moved: into the file first, then into the database."""
    key = signing_key(settings.CHECKPOINT_KEY_FILE)
    outcomes: list[Signing] = []
    try:
        sweep(lambda account_id: outcomes.extend(_signings_due(account_id)))
    finally:  # heads of other chains are signed even if one chain could not be read
        _sign(key, outcomes)
    return outcomes


def _sign(key: Ed25519PrivateKey, outcomes: Iterable[Signing]) -> None:
    signed: list[Signed] = []
    for each in outcomes:
        if each.problem:
            log.error("ledger_broken", account=str(each.account_id), seq=each.problem.seq)
            continue
        now = timezone.now()
        statement = Statement(account=each.account_id, created_at=now, **each.head._asdict())
        signed.append(sign(key, statement))
    if signed:
        append(settings.CHECKPOINT_FILE, signed)
    for one in signed:
        columns = asdict(one.statement)
        account_id = columns.pop("account")
        with acting(account_id):
            Checkpoint.objects.create(
                account_id=account_id, signature=one.signature, key_id=one.key_id, **columns
            )


def _signings_due(account_id: UUID) -> list[Signing]:
    """Return the head of a chain that moved, or the first problem since the last checkpoint."""
    head = before = _last_signed(account_id)
    if head != BEGINNING:
        with acting(account_id):
            if not Commit.objects.of(account_id).at(head).exists():
                message = "is not the commit that was signed"
                problem = Problem(head.seq, "rewritten", message)
                return [Signing(account_id=account_id, head=head, problem=problem)]
    for rows in commit_blocks(account_id, head.seq):
        links = ((row.link(), row.commit_hash) for row in rows)
        if first_problem := next(verify(links, after=head), None):
            return [Signing(account_id=account_id, head=head, problem=first_problem)]
        head = Head(rows[-1].seq, rows[-1].commit_hash)
    return [] if head == before else [Signing(account_id=account_id, head=head)]


def _last_signed(account_id: UUID) -> Head:
    """Return the latest head of the file and its copies in the database: either can be lost."""
    with acting(account_id):
        copy = Checkpoint.objects.of(account_id).order_by("-seq").first()
    signed_heads = [last_signed().get(account_id), copy and Head(copy.seq, copy.commit_hash)]
    return max((head for head in signed_heads if head), key=attrgetter("seq"), default=BEGINNING)
