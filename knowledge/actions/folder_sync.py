"""Following a folder: what is new or changed is delivered, what is gone is removed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.errors import TooLarge
from knowledge.actions.chunks import Settled
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
    chunks: Settled = field(default_factory=Settled)


def sync(
    source: KnowledgeSource,
    actor: Actor,
    folder: Path,
    tell: Callable[[int], None] = lambda files: None,
) -> Synced:
    """Bring a source to what a folder holds now. Opens `acting` itself, for each part."""
    synced = Synced()
    seen: set[str] = set()
    for some in _parts(folder):
        seen.update(each.ref for each in some)
        _deliver(source, actor, some, synced)
        tell(len(some))
    with acting(source.account_id):
        rows = KnowledgeDocument.objects.of(source.account_id).present().filter(source=source)
        known = rows.values_list("ref", flat=True)
        gone = [ref for ref in known if not _is_known(ref, seen)]
        if gone:
            taken = ingest(source, actor, [], remove=gone)
            synced.removed, synced.chunks = len(taken.removed), synced.chunks + taken.chunks
    return synced


def _is_known(ref: str, seen: set[str]) -> bool:
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
        taken = ingest(source, actor, prepared)
    synced.added += len(taken.added)
    synced.changed += len(taken.changed)
    synced.unchanged += len(taken.unchanged)
    synced.chunks += taken.chunks
