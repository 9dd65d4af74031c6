"""Files that only their owner can read, complete or absent after a crash. No Django."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def create_private_file(path: Path, content: bytes) -> None:
    """Create a file; if several processes do it at once, the first one wins."""
    with _write_draft(path, content) as draft:
        try:
            path.hardlink_to(draft)
        except FileExistsError:
            return
        except OSError:  # a file system without hard links
            draft.replace(path)


def replace_private_file(path: Path, content: bytes) -> None:
    """Create a file, or replace it."""
    with _write_draft(path, content) as draft:
        draft.replace(path)


@contextmanager
def _write_draft(path: Path, content: bytes) -> Iterator[Path]:
    """Write the content to a draft next to the path. Delete the draft if the block leaves it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)  # its mode is 0600
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield draft
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flush a folder to disk, so that a new file name survives a crash."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
