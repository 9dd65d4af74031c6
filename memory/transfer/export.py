"""Export of an account's memories in the order of writing."""

from collections.abc import Iterator, Sequence
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.ledger.canonical import encode_canonical
from kmapp.ledger.models import Commit
from kmapp.search.lookups import IdArray
from memory.models import MemoryEdge, MemoryEntry
from memory.transfer.jsonl import HEADER, line_of

COMMITS = 100  # read at a time
PAGE = 500  # memories read at a time
ENTRY, EDGE = (f"{model._meta.label_lower}:" for model in (MemoryEntry, MemoryEdge))


def export(account_id: UUID) -> Iterator[bytes]:
    """Yield the lines of an account, one page and transaction at a time.

    Commits list their entries in batch order, so no other index is needed. Later entries
    come last; each entry is exported as it is when its page is read.
    """
    yield encode_canonical(HEADER) + b"\n"
    after = 0
    while page := _page(account_id, after):
        for _, lines in page:
            yield from lines
        after = page[-1][0]


def lines_of(account_id: UUID) -> int:
    """Return the number of lines that `export` would write now."""
    with acting(account_id):
        entries = MemoryEntry.objects.of(account_id).count()
        edges = MemoryEdge.objects.of(account_id).exclude(commit=None).count()
    return 1 + entries + edges


def export_these(account_id: UUID, ids: Sequence[UUID]) -> Iterator[bytes]:
    """Yield the lines of these memories and the written edges between them.

    Entries erased meanwhile are left out.
    """
    yield encode_canonical(HEADER) + b"\n"
    for page in _pages(ids):
        with acting(account_id):
            entries = MemoryEntry.objects.of(account_id).in_bulk(page)
        yield b"".join(line_of(entries[pk]) for pk in page if pk in entries)
    exported_ids = set(ids)
    for page in _pages(ids):
        with acting(account_id):
            edges = MemoryEdge.objects.of(account_id).filter(src__any_of=IdArray(page))
            rows = list(edges.exclude(commit=None).order_by("pk"))
        yield b"".join(line_of(edge) for edge in rows if edge.dst_id in exported_ids)


def _pages(ids: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    for start in range(0, len(ids), PAGE):
        yield ids[start : start + PAGE]


def _page(account_id: UUID, after: int) -> list[tuple[int, list[bytes]]]:
    with acting(account_id):
        commits = Commit.objects.of(account_id).filter(seq__gt=after).order_by("seq")[:COMMITS]
        return [(commit.seq, list(_lines(account_id, commit))) for commit in commits]


def _lines(account_id: UUID, commit: Commit) -> Iterator[bytes]:
    """Yield entries first, then the edges between them and earlier ones."""
    names = [str(change["object"]) for change in commit.diff]
    entries = MemoryEntry.objects.of(account_id).in_bulk(_ids(names, ENTRY))
    for pk in _ids(names, ENTRY):
        if pk in entries and entries[pk].written_in == commit.pk:
            yield line_of(entries[pk])
    edges = MemoryEdge.objects.of(account_id).in_bulk(_ids(names, EDGE))
    for pk in _ids(names, EDGE):
        if pk in edges and edges[pk].commit_id == commit.pk:
            yield line_of(edges[pk])


def _ids(names: list[str], label: str) -> list[UUID]:
    return [UUID(name.removeprefix(label)) for name in names if name.startswith(label)]
