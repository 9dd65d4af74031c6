"""A folder as a set of files to deliver, with change detection."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from knowledge.actions.prepare_delivery import Delivery
from knowledge.parsing.formats import format_of

PIECE = 1024 * 1024
SKIPPED = frozenset({"__pycache__", "node_modules", "venv", "dist", "build"})


@dataclass(frozen=True, slots=True)
class FilePieces:
    """A file's bytes, read a piece at a time, as often as they are asked for."""

    path: Path

    def __iter__(self) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            while piece := file.read(PIECE):
                yield piece


def files_of(folder: Path) -> Iterator[Path]:
    """Every file that we can read, in order. Hidden ones, and links out of it, are left out."""
    root = folder.resolve()
    for here, folders, names in os.walk(root):
        folders[:] = sorted(n for n in folders if n not in SKIPPED and not n.startswith("."))
        for name in sorted(names):
            path = Path(here, name)
            inside = path.resolve().is_relative_to(root)
            if not name.startswith(".") and inside and path.is_file() and format_of(name):
                yield path


def delivery_of(folder: Path, path: Path) -> Delivery:
    """Return the delivery of a file, named by its path inside the folder."""
    pieces = FilePieces(path)
    digest, size = hashlib.sha256(), 0
    for piece in pieces:
        digest.update(piece)
        size += len(piece)
    ref = path.relative_to(folder.resolve()).as_posix()
    return Delivery(ref=ref, pieces=pieces, sha256=digest.hexdigest(), size=size)


def signature_of(folder: Path) -> frozenset[tuple[str, int, int]]:
    """Return a signature that changes when a folder changes, without reading its files."""
    paths = set()
    for path in files_of(folder):
        stat = path.stat()
        paths.add((str(path), stat.st_mtime_ns, stat.st_size))
    return frozenset(paths)
