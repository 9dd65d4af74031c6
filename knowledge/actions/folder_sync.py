"""Synchronization of a folder: deliver new and changed files, remove deleted ones."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.errors import TooLarge
from knowledge.actions.chunks import ChunkChanges
from knowledge.actions.folders import delivery_of, files_of
from knowledge.actions.ingest import ingest
from knowledge.actions.prepare_delivery import Delivery, prepare
from knowledge.actions.quotas import refuse_too_much
from knowledge.models import KnowledgeDocument, KnowledgeSource

FILES = 20  # in one commit
BYTES = 256 * 1024


@dataclass(kw_only=True)
class Synced:
    """What following a folder did."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    refused: list[str] = field(default_factory=list)
    chunks: ChunkChanges = field(default_factory=ChunkChanges)


def sync(
    source: KnowledgeSource,
    actor: Actor,
    folder: Path,
    report_progress: Callable[[int], None] = lambda files: None,
) -> Synced:
    """Bring a source to what a folder holds now. Opens `acting` itself, for each part."""
    synced = Synced()
    seen: set[str] = set()
    for some in _parts(folder):
        seen.update(each.ref for each in some)
        _deliver(source, actor, some, synced)
        report_progress(len(some))
    with acting(source.account_id):
        rows = KnowledgeDocument.objects.of(source.account_id).present().filter(source=source)
        existing_refs = rows.values_list("ref", flat=True)
        gone = [ref for ref in existing_refs if not _is_delivered(ref, seen)]
        if gone:
            result = ingest(source, actor, [], remove=gone)
            synced.removed, synced.chunks = len(result.removed), synced.chunks + result.chunks
    return synced


def _is_delivered(ref: str, seen: set[str]) -> bool:
    """In the folder, or in an archive that is."""
    return ref in seen or any(
        each.endswith(".zip") and ref.startswith(f"{each[:-4]}/") for each in seen
    )


def _parts(folder: Path) -> Iterator[list[Delivery]]:
    some: list[Delivery] = []
    for path in files_of(folder):
        some.append(delivery_of(folder, path))
        if len(some) >= FILES or sum(each.size for each in some) >= BYTES:
            yield some
            some = []
    if some:
        yield some


def _deliver(source: KnowledgeSource, actor: Actor, some: list[Delivery], synced: Synced) -> None:
    allowed = []
    with acting(source.account_id):
        for each in some:
            try:
                refuse_too_much(source.account_id, [each])
                allowed.append(each)
            except TooLarge as error:
                synced.refused.append(error.message)
    prepared = prepare(source, allowed)
    with acting(source.account_id):
        result = ingest(source, actor, prepared)
    synced.added += len(result.added)
    synced.changed += len(result.changed)
    synced.unchanged += len(result.unchanged)
    synced.chunks += result.chunks
