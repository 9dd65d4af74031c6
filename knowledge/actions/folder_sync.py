"""Synchronization of a folder: deliver new and changed files, remove deleted ones."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.errors import Invalid, TooLarge
from kmapp.ledger.actions import recording
from kmapp.security.virus_scan import CannotScan
from knowledge.actions.ingest import IngestResult, ingest_deliveries, list_undelivered
from knowledge.actions.prepare_delivery import (
    DeliveredFile,
    PreparedDelivery,
    StoredFile,
    check_quota,
    prepare_deliveries,
)
from knowledge.actions.sources import NewSource, ensure_source
from knowledge.models import KnowledgeSource
from knowledge.parsing.formats import find_format

BATCH_FILES = 20  # in one commit
BATCH_BYTES = 256 * 1024
READ_SIZE = 1024 * 1024
SKIPPED = frozenset({"__pycache__", "node_modules", "venv", "dist", "build"})

Signature = frozenset[tuple[str, int, int]]  # path, time of the last change, and size of each file


@dataclass(kw_only=True)
class SyncResult:
    documents: Counter[str] = field(default_factory=Counter)  # by the names in `IngestResult`
    chunks: Counter[str] = field(default_factory=Counter)  # as `replace_chunks` returns it
    refused: list[str] = field(default_factory=list)

    def add(self, result: IngestResult) -> None:
        for name in ("added", "changed", "unchanged", "removed"):
            self.documents[name] += len(getattr(result, name))
        self.chunks += result.chunks


@dataclass(kw_only=True)
class SyncedSource:
    """The source of a folder. It is stored with the first documents, which may be refused."""

    row: KnowledgeSource  # as `check_source` returns it, until it is stored
    source_input: NewSource
    actor: Actor
    is_stored: bool = False

    def ingest(
        self, prepared: Sequence[PreparedDelivery], remove: Sequence[str] = ()
    ) -> IngestResult:
        """Write prepared deliveries in one commit. Inside `acting`."""
        account_id = self.row.account_id
        with recording(account_id, self.actor) as commit:
            if not self.is_stored:
                self.row = ensure_source(account_id, self.actor, self.source_input, commit=commit)
            result = ingest_deliveries(self.row, self.actor, prepared, remove=remove, commit=commit)
        self.is_stored = True
        return result


def list_files(folder: Path) -> Iterator[Path]:
    """Yield the supported files, sorted. Hidden files and links out of the folder are skipped."""
    root = folder.resolve()
    for here, folders, names in os.walk(root):
        folders[:] = sorted(n for n in folders if n not in SKIPPED and not n.startswith("."))
        for name in sorted(names):
            path = Path(here, name)
            # A loop of links is no file, and `resolve` would raise an error.
            if name.startswith(".") or not find_format(name) or not path.is_file():
                continue
            if path.resolve().is_relative_to(root):
                yield path


def build_delivery(folder: Path, path: Path) -> DeliveredFile:
    """Return the delivery of a file, named by its path inside the folder."""
    return DeliveredFile.of(_get_ref(folder, path), StoredFile(partial(_read_pieces, path)))


def _get_ref(folder: Path, path: Path) -> str:
    return "/".join(map(_decode_name, path.relative_to(folder.resolve()).parts))


def _decode_name(name: str) -> str:
    """Return the name of a file, which programs for Windows write in GB 18030 instead of UTF-8."""
    data = os.fsencode(name)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("gb18030", "replace")


def _read_pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(READ_SIZE):
            yield piece


def compute_signature(folder: Path) -> Signature:
    """Return a signature that changes when a folder changes, without reading its files."""
    stats = [(path, path.stat()) for path in list_files(folder)]
    return frozenset((str(path), stat.st_mtime_ns, stat.st_size) for path, stat in stats)


def sync_folder(
    source: SyncedSource,
    folder: Path,
    report_progress: Callable[[int], None] = lambda files: None,
) -> SyncResult:
    """Deliver the content of a folder to a source. Opens `acting` itself, for each batch.

    The documents of refused files stay as they are.
    """
    total = SyncResult()
    refs: set[str] = set()
    for deliveries in _split_batches(folder, refs, total):
        _deliver(source, deliveries, total)
        report_progress(len(deliveries))
    with acting(source.row.account_id):
        if removed := list_undelivered(source.row, refs):
            total.add(source.ingest([], removed))
    return total


def _split_batches(
    folder: Path, refs: set[str], total: SyncResult
) -> Iterator[list[DeliveredFile]]:
    """Yield the files in batches, and add their refs to `refs`."""
    batch: list[DeliveredFile] = []
    for path in list_files(folder):
        ref = _get_ref(folder, path)
        if ref in refs:
            total.refused.append(f"{ref}: Another file has the same name in another encoding.")
            continue
        try:
            batch.append(build_delivery(folder, path))
        except FileNotFoundError:
            continue  # deleted meanwhile
        except OSError as error:
            total.refused.append(f"{ref}: {error.strerror}")
        refs.add(ref)
        if len(batch) >= BATCH_FILES or sum(each.size for each in batch) >= BATCH_BYTES:
            yield batch
            batch = []
    if batch:
        yield batch


def _deliver(source: SyncedSource, deliveries: list[DeliveredFile], total: SyncResult) -> None:
    allowed, account_id = [], source.row.account_id
    with acting(account_id):
        for each in deliveries:
            try:
                check_quota(account_id, [each])
                allowed.append(each)
            except TooLarge as error:
                total.refused.append(error.message)
    if prepared := _prepare(source.row, allowed, total):
        with acting(account_id):
            total.add(source.ingest(prepared))


def _prepare(
    source: KnowledgeSource, deliveries: list[DeliveredFile], total: SyncResult
) -> list[PreparedDelivery]:
    """Prepare files, without those in which the virus scanner finds something or fails."""
    try:
        return prepare_deliveries(source, deliveries)
    except (Invalid, CannotScan) as error:
        if len(deliveries) == 1:
            total.refused.append(f"{deliveries[0].ref}: {error.message}")
            return []
    return [one for each in deliveries for one in _prepare(source, [each], total)]
