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

from kmapp.ledger.signing import Signed, append, parse, replace_file

ROTATED_LINES = 10_000  # a longer file is rotated, which keeps fsck and every start fast
OLD_FILES = 20  # rotated files that are stored


@dataclass
class CheckpointFile:
    """The newest statements in the file. It is read once; afterwards only the lines added to it."""

    path: Path
    inode: int = 0
    offset: int = 0
    lines: int = 0
    newest: dict[UUID, Signed] = field(default_factory=dict)
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
            self._forget(inode=0)
            return
        if (status.st_ino, status.st_size) != (self.inode, self.offset):
            with self.path.open("rb") as file:
                self._read(file)

    def _read(self, file: BufferedReader) -> None:
        status = os.fstat(file.fileno())
        if status.st_ino != self.inode or status.st_size < self.offset:  # another file
            self._forget(status.st_ino)
        file.seek(self.offset)
        for line in file:
            if not line.endswith(b"\n"):  # being written, or cut short by a crash
                break
            self.offset += len(line)
            self.lines += 1
            if signed := parse(line):
                before = self.newest.get(signed.statement.account)
                if before is None or signed.statement.seq >= before.statement.seq:
                    self.newest[signed.statement.account] = signed

    def _forget(self, inode: int) -> None:
        self.inode, self.offset, self.lines, self.newest = inode, 0, 0, {}

    def rotate_if_long(self) -> None:
        """Continue in a new file that begins with the newest statement of each account.

        Hold `signing.one_signer` meanwhile. The path exists at every moment.
        """
        newest = self.all()
        if self.lines <= max(ROTATED_LINES, 4 * len(newest)):
            return
        name = f"{self.path.stem}-{datetime.now(UTC):%Y%m%dT%H%M%S%f}{self.path.suffix}"
        draft = self.path.with_name(self.path.name + ".new")
        draft.unlink(missing_ok=True)  # of a rotation that was interrupted
        append(draft, newest.values())
        replace_file(self.path, draft, old=self.path.with_name(name))
        for path in self.rotated()[:-OLD_FILES]:
            path.unlink()

    def rotated(self) -> list[Path]:
        """Return the rotated files, oldest first."""
        return sorted(self.path.parent.glob(f"{self.path.stem}-*{self.path.suffix}"))


_files: dict[Path, CheckpointFile] = {}


def checkpoint_file() -> CheckpointFile:
    """Return the configured file; it need not exist."""
    path = settings.CHECKPOINT_FILE
    return _files.setdefault(path, CheckpointFile(path))
