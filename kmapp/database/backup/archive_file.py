"""The backup file: a zip archive that is complete or absent. No Django.

    database.dump       the output of pg_dump in its custom format
    checkpoints.ndjson  the signed checkpoints of its chains
    checkpoint.pub      the public keys of the checkpoints
    contents.json       time, versions, number of rows of each table, and head of each chain

It is written under another name and renamed when all of it is on disk.
"""

import fcntl
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import IO
from zipfile import BadZipFile, ZipFile

from kmapp.database.backup import BackupError
from kmapp.ledger.chain import Head
from kmapp.runtime.private_files import sync_folder

FORMAT_VERSION = 1
DUMP_MEMBER, CHECKPOINTS_MEMBER, KEYS_MEMBER, CONTENTS_MEMBER = (
    "database.dump",
    "checkpoints.ndjson",
    "checkpoint.pub",
    "contents.json",
)
BLOCK_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The contents of a backup, all from one snapshot."""

    made_at: str
    kmapp: str  # version
    postgres: int
    rows: Mapping[str, int]  # by table
    heads: Mapping[str, Head]  # by account

    def text(self) -> str:
        heads = {account: head._asdict() for account, head in self.heads.items()}
        return json.dumps({"format": FORMAT_VERSION, **asdict(self), "heads": heads}, indent=1)


@contextmanager
def create_archive(path: Path) -> Iterator[ZipFile]:
    """Write a new backup. An interruption leaves no file of that name."""
    draft = path.with_name(f"{path.name}.part")
    if path.exists():
        raise BackupError(f"{path} is there already: choose another name.")
    if not path.parent.is_dir():
        raise BackupError(f"Folder {path.parent} does not exist.")
    with os.fdopen(os.open(draft, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupError(f"Another backup is just being written to {draft}.") from None
        try:
            file.truncate(0)  # an earlier run may have been killed
            with ZipFile(file, "w") as bundle:
                yield bundle
            file.flush()
            os.fsync(file.fileno())
            draft.rename(path)
        except BaseException:
            draft.unlink()
            raise
    sync_folder(path.parent)


@contextmanager
def open_archive(path: Path) -> Iterator[ZipFile]:
    """Open a complete backup; damage inside it is detected while it is read."""
    try:
        with ZipFile(path) as bundle:
            if CONTENTS_MEMBER not in bundle.namelist():
                raise BackupError(f"{path} is not a backup of kmapp.")
            yield bundle
    except FileNotFoundError:
        raise BackupError(f"File {path} does not exist.") from None
    except (BadZipFile, zlib.error) as damage:
        raise BackupError(f"{path} is not whole: {damage}") from damage


def read_contents(bundle: ZipFile) -> Contents:
    contents = json.loads(bundle.read(CONTENTS_MEMBER))
    if contents.pop("format") != FORMAT_VERSION:
        raise BackupError(
            "The backup was created by a newer release of kmapp. Restore it with that release."
        )
    heads = {account: Head(**head) for account, head in contents.pop("heads").items()}
    return Contents(heads=heads, **contents)


def read_blocks(file: IO[bytes]) -> Iterator[bytes]:
    return iter(partial(file.read, BLOCK_BYTES), b"")
