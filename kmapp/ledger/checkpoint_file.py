"""The checkpoint file: the newest signed head of each account, and rotation."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path
from threading import Lock
from uuid import UUID

from django.conf import settings

from kmapp.ledger.signing import Signed, append_statements, parse_line, replace_file

MAX_LINES = 10_000  # a longer file is rotated, which keeps fsck and every start fast
MAX_ROTATED_FILES = 20  # rotated files that are stored


@dataclass
class CheckpointFile:
    """The newest statements in the file. It is read once; afterwards only the lines added to it."""

    path: Path
    inode: int = 0
    offset: int = 0
    line_count: int = 0
    newest: dict[UUID, Signed] = field(default_factory=dict)
    accepted_losses: dict[UUID, Signed] = field(
        default_factory=dict
    )  # the last loss that was accepted
    lock: Lock = field(default_factory=Lock)

    def get(self, account_id: UUID) -> Signed | None:
        with self.lock:
            self._read_new_lines()
            return self.newest.get(account_id)

    def all(self) -> Mapping[UUID, Signed]:
        with self.lock:
            self._read_new_lines()
            return dict(self.newest)

    def _read_new_lines(self) -> None:
        try:
            status = self.path.stat()
        except FileNotFoundError:
            self._reset(inode=0)
            return
        if (status.st_ino, status.st_size) != (self.inode, self.offset):
            with self.path.open("rb") as file:
                self._read_from_offset(file)

    def _read_from_offset(self, file: BufferedReader) -> None:
        status = os.fstat(file.fileno())
        if status.st_ino != self.inode or status.st_size < self.offset:  # another file
            self._reset(status.st_ino)
        file.seek(self.offset)
        for line in file:
            if not line.endswith(b"\n"):  # being written, or cut short by a crash
                break
            self.offset += len(line)
            self.line_count += 1
            if signed := parse_line(line):
                self._add(signed)

    def _add(self, signed: Signed) -> None:
        statement = signed.statement
        before = self.newest.get(statement.account)
        if before is None or statement.replaces or statement.seq >= before.statement.seq:
            self.newest[statement.account] = signed
        if statement.replaces:
            self.accepted_losses[statement.account] = signed

    def _reset(self, inode: int) -> None:
        self.inode, self.offset, self.line_count = inode, 0, 0
        self.newest, self.accepted_losses = {}, {}

    def is_missing(self, signed: Signed) -> bool:
        """Return whether this statement of ours is newer than the newest in the file.

        Return False if its loss was accepted.
        """
        statement, account_id = signed.statement, signed.statement.account
        newest, accepted = self.get(account_id), self.accepted_losses.get(account_id)
        if newest is None:
            return True
        if accepted and signed.created_at <= accepted.created_at:
            return False
        later = signed.created_at > newest.created_at
        return later or statement.seq > newest.statement.seq

    def list_missing_from(self, copy: Mapping[UUID, Signed]) -> list[Signed]:
        """Return the statements, in order, that a copy with these newest ones lacks."""
        missing = []
        for account_id, newest in self.all().items():
            stored, accepted = copy.get(account_id), self.accepted_losses.get(account_id)
            if stored == newest:
                continue
            if accepted and (not stored or stored.created_at < accepted.created_at):
                missing.append(accepted)
            if newest != accepted:
                missing.append(newest)
        return missing

    def rotate_if_long(self) -> None:
        """Continue in a new file that begins with the newest statement of each account.

        The last accepted losses are included. Call it inside `signing.lock_for_signing`. The path
        exists at every moment.
        """
        newest = self.all()
        if self.line_count <= max(MAX_LINES, 4 * len(newest)):
            return
        name = f"{self.path.stem}-{datetime.now(UTC):%Y%m%dT%H%M%S%f}{self.path.suffix}"
        draft = self.path.with_name(self.path.name + ".new")
        draft.unlink(missing_ok=True)  # of a rotation that was interrupted
        append_statements(draft, self.list_missing_from({}))
        replace_file(self.path, draft, old=self.path.with_name(name))
        for path in self.list_rotated()[:-MAX_ROTATED_FILES]:
            path.unlink()

    def list_rotated(self) -> list[Path]:
        """Return the rotated files, oldest first, and no other file with a similar name."""
        time = f"{'[0-9]' * 8}T{'[0-9]' * 12}"
        return sorted(self.path.parent.glob(f"{self.path.stem}-{time}{self.path.suffix}"))


_files: dict[Path, CheckpointFile] = {}


def get_checkpoint_file() -> CheckpointFile:
    """Return the configured file; it need not exist."""
    return get_shared_file(settings.CHECKPOINT_FILE)


def get_shared_file(path: Path) -> CheckpointFile:
    """Return the file at a path, as this process has read it."""
    return _files.setdefault(path, CheckpointFile(path))
