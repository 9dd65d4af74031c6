"""Export of an account's memories in the order of writing."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from uuid import UUID

from django.conf import settings

from kmapp.accounts.acting import acting
from kmapp.errors import Conflict
from kmapp.ledger.canonical import encode_canonical
from kmapp.ledger.models import Commit
from kmapp.search.id_array_lookup import IdArray
from memory.models import MemoryEdge, MemoryEntry
from memory.transfer.jsonl import HEADER, format_line

COMMITS_PER_PAGE = 100  # read at a time
ENTRIES_PER_PAGE = 500  # memories read at a time
ENTRY_PREFIX, EDGE_PREFIX = (f"{model._meta.label_lower}:" for model in (MemoryEntry, MemoryEdge))


def export_account(account_id: UUID) -> Iterator[bytes]:
    """Yield the lines of an account, one page and transaction at a time.

    Commits list their entries in batch order, so no other index is needed. Later entries
    come last; each entry is exported as it is when its page is read. Raise Conflict at a commit
    whose changes are malformed, because the export would be incomplete.
    """
    yield encode_canonical(HEADER) + b"\n"
    after = 0
    while page := _load_page(account_id, after):
        for _, lines in page:
            yield from lines
        after = page[-1][0]


def count_lines(account_id: UUID) -> int:
    """Return the number of lines that `export_account` would write now."""
    with acting(account_id):
        entries = MemoryEntry.objects.of(account_id).count()
        edges = MemoryEdge.objects.of(account_id).exclude(commit=None).count()
    return 1 + entries + edges


def export_entries(account_id: UUID, ids: Sequence[UUID]) -> Iterator[bytes]:
    """Yield the lines of these memories and the written edges between them.

    Entries erased meanwhile are left out.
    """
    yield encode_canonical(HEADER) + b"\n"
    for entries in read_pages(account_id, ids):
        yield b"".join(map(format_line, entries))
    exported_ids = set(ids)
    for page in _split_pages(ids):
        with acting(account_id):
            edges = MemoryEdge.objects.of(account_id).filter(src__any_of=IdArray(page))
            rows = list(edges.exclude(commit=None).order_by("pk"))
        yield b"".join(format_line(edge) for edge in rows if edge.dst_id in exported_ids)


def read_pages(account_id: UUID, ids: Sequence[UUID]) -> Iterator[list[MemoryEntry]]:
    """Yield these memories in order, some at a time, without those erased meanwhile."""
    for page in _split_pages(ids):
        with acting(account_id):
            entries = MemoryEntry.objects.of(account_id).in_bulk(page)
        yield [entries[pk] for pk in page if pk in entries]


def _split_pages(ids: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    for start in range(0, len(ids), ENTRIES_PER_PAGE):
        yield ids[start : start + ENTRIES_PER_PAGE]


def _load_page(account_id: UUID, after: int) -> list[tuple[int, list[bytes]]]:
    with acting(account_id):
        commits = (
            Commit.objects.of(account_id).filter(seq__gt=after).order_by("seq")[:COMMITS_PER_PAGE]
        )
        return [(commit.seq, list(_iterate_lines(account_id, commit))) for commit in commits]


def _iterate_lines(account_id: UUID, commit: Commit) -> Iterator[bytes]:
    """Yield entries first, then the edges between them and earlier ones."""
    entry_ids, edge_ids = _list_ids(commit)
    entries = MemoryEntry.objects.of(account_id).in_bulk(entry_ids)
    for pk in entry_ids:
        if pk in entries and entries[pk].written_in == commit.pk:
            yield format_line(entries[pk])
    edges = MemoryEdge.objects.of(account_id).in_bulk(edge_ids)
    for pk in edge_ids:
        if pk in edges and edges[pk].commit_id == commit.pk:
            yield format_line(edges[pk])


def _list_ids(commit: Commit) -> tuple[list[UUID], list[UUID]]:
    """Return the ids of the entries and of the edges in a commit."""
    changes = commit.list_changes()
    if changes and changes == commit.diff:
        names = [change["object"] for change in changes]
        with suppress(AttributeError, ValueError):  # a name is not a string, or an id is damaged
            return _parse_ids(names, ENTRY_PREFIX), _parse_ids(names, EDGE_PREFIX)
    raise Conflict(
        f"The list of changes in commit {commit.seq} of the ledger is malformed, because the "
        f"database was edited. The export would be incomplete. Run {settings.COMMAND} fsck to see "
        "what else was edited, and restore a backup."
    )


def _parse_ids(names: list[str], prefix: str) -> list[UUID]:
    return [UUID(name.removeprefix(prefix)) for name in names if name.startswith(prefix)]
