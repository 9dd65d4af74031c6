"""Comparison of chains with the checkpoints stored outside the database.

A database that was put back to an earlier day is whole in itself, and nothing in it knows better:
only the signed file does. This is asked on every start, by health and on the pages; it believes
the file. `manage.py fsck` also checks the signatures.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from uuid import UUID

from django.conf import settings

from kmapp.accounts.acting import acting
from kmapp.accounts.models import account_ids
from kmapp.ledger.chain import Head
from kmapp.ledger.models import Commit
from kmapp.ledger.signing import Signed, parse


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """An account whose chain is not the one that was signed."""

    account_id: UUID
    signed: int  # the number of the last signed commit
    ends: int  # the number of the last commit that is there

    def __str__(self) -> str:
        if self.ends < self.signed:
            return f"ends at commit {self.ends}, but commit {self.signed} was signed"
        return f"has another commit {self.signed} than the one that was signed"


def behind(account_id: UUID) -> Behind | None:
    """Return what is missing of an account's chain. One query if nothing is missing."""
    signed = last_signed().get(account_id)
    if signed is None:
        return None
    with acting(account_id):
        commits = Commit.objects.of(account_id)
        if commits.filter(seq=signed.seq, commit_hash=signed.commit_hash).exists():
            return None
        ends = commits.order_by("-seq").values_list("seq", flat=True).first() or 0
    return Behind(account_id=account_id, signed=signed.seq, ends=ends)


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
    """The file, read once; afterwards only what was added to it."""

    path: Path
    inode: int = 0
    offset: int = 0
    _heads: dict[UUID, Head] = field(default_factory=dict)

    def heads(self) -> Mapping[UUID, Head]:
        if not self.path.exists():
            return {}
        with self.path.open("rb") as file:
            chain = self.path.stat()
            if chain.st_ino != self.inode or chain.st_size < self.offset:  # another file
                self.inode, self.offset, self._heads = chain.st_ino, 0, {}
            file.seek(self.offset)
            for line in file:
                if not line.endswith(b"\n"):  # being written, or cut short by a crash
                    break
                self.offset += len(line)
                self._read_line(line)
        return dict(self._heads)

    def _read_line(self, line: bytes) -> None:
        record = parse(line, 0)
        if isinstance(record, Signed):
            statement = record.statement
            before = self._heads.get(statement.account)
            if before is None or statement.seq >= before.seq:
                self._heads[statement.account] = Head(statement.seq, statement.commit_hash)


_files: dict[Path, _File] = {}
_lock = Lock()
