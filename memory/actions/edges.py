"""Drawing connections between memories."""

from collections.abc import Container, Sequence
from uuid import UUID

from django.utils import timezone

from kmapp.database.ids import uuid7
from kmapp.errors import Invalid
from kmapp.ledger.actions import Recording
from memory.models import MemoryEdge, MemoryEntry
from memory.models.entry_input import Batch, EdgeEnd, NewEdge

Origin, Type = MemoryEdge.Origin, MemoryEdge.Type
# What says that another memory no longer holds. A reviewer must see it together with its memory.
JUDGING = frozenset({Type.SUPERSEDES, Type.CONTRADICTS})


def write_edges(
    account_id: UUID,
    batch: Batch,
    entries: Sequence[MemoryEntry],
    new_entries: Container[UUID],
    commit: Recording,
) -> list[MemoryEdge]:
    """Write edges between entries of a batch, of which some are `made` by it, and known ones.

    A written edge stays as it is; a derived one gives way to the same edge written.
    """
    drafts = batch.edges
    if not drafts:
        return []
    ends = _Ends(account_id, batch, entries)
    pairs = [
        (ends.find(draft.src, i, "src"), ends.find(draft.dst, i, "dst"))
        for i, draft in enumerate(drafts)
    ]
    for i, (src, dst) in enumerate(pairs):
        validate_edge_ends(i, src, dst)
    there = _there(account_id, pairs)
    written_edges = {name: edge for name, edge in there.items() if edge.origin == Origin.WRITTEN}
    edges, fresh = [], []
    for i, (draft, (src, dst)) in enumerate(zip(drafts, pairs, strict=True)):
        name = (src.pk, dst.pk, draft.type)
        if name not in written_edges:
            if commit.actor.kind == "key" and src.pk not in new_entries:
                _refuse_judging(i, draft)
            written_edges[name] = _edge(account_id, draft, src, dst, commit)
            fresh.append(written_edges[name])
        edges.append(written_edges[name])
    replaced = [
        there[name].pk for name in written_edges if name in there and there[name].commit_id is None
    ]
    if replaced:
        MemoryEdge.objects.of(account_id).filter(pk__in=replaced).delete()
    MemoryEdge.objects.bulk_create(fresh, batch_size=500)
    commit.add_all(fresh, "ADD")
    return edges


_Name = tuple[UUID, UUID, str]


def _there(
    account_id: UUID, pairs: Sequence[tuple[MemoryEntry, MemoryEntry]]
) -> dict[_Name, MemoryEdge]:
    rows = MemoryEdge.objects.of(account_id).filter(
        src__in=[src.pk for src, _ in pairs], dst__in=[dst.pk for _, dst in pairs]
    )
    return {(edge.src_id, edge.dst_id, edge.type): edge for edge in rows}


def _edge(
    account_id: UUID, draft: NewEdge, src: MemoryEntry, dst: MemoryEntry, commit: Recording
) -> MemoryEdge:
    return MemoryEdge(
        id=draft.id or uuid7(),
        account_id=account_id,
        src=src,
        dst=dst,
        type=draft.type,
        weight=draft.weight,
        confidence=draft.confidence,
        decay_rate=draft.decay_rate,
        created_at=timezone.now(),
        commit_id=commit.id,
    )


def _refuse_judging(i: int, draft: NewEdge) -> None:
    """Refuse edges to memories in review, because reviewers approve exactly what they saw."""
    if draft.type in JUDGING:
        raise Invalid(
            f"Only a memory written in the same batch {draft.type} another.",
            code="edge_after_entry",
            issues=[{"path": f"edges.{i}.src", "message": "was written before this batch"}],
        )


def validate_edge_ends(i: int, src: MemoryEntry, dst: MemoryEntry) -> None:
    """Refuse an edge that joins an entry with itself, or the memories of two users."""
    if src.pk == dst.pk:
        raise Invalid(
            "An edge joins two different entries.",
            issues=[{"path": f"edges.{i}.dst", "message": "is the same entry as src"}],
        )
    private = [e for e in (src, dst) if e.visibility != MemoryEntry.Visibility.ACCOUNT]
    if len({entry.user_id for entry in private}) > 1:
        raise Invalid(
            "An edge cannot join the memories of two users.",
            issues=[{"path": f"edges.{i}", "message": "src and dst belong to different users"}],
        )


class _Ends:
    """Finds what edges point at, with one query for all of them."""

    def __init__(self, account_id: UUID, batch: Batch, entries: Sequence[MemoryEntry]) -> None:
        self.by_id = {entry.pk: entry for entry in entries}
        self.by_client_id = {entry.client_id: entry for entry in entries if entry.client_id}
        endpoints = [end for draft in batch.edges for end in (draft.src, draft.dst)]
        rows = MemoryEntry.objects.of(account_id)
        ids = {end.id for end in endpoints if end.id} - self.by_id.keys()
        names = {end.client_id for end in endpoints if end.client_id} - self.by_client_id.keys()
        self.by_id |= rows.in_bulk(list(ids)) if ids else {}
        if names:
            scopes = {batch.scope, *(entry.scope for entry in entries)}
            matches = rows.filter(client_id__in=names, scope__in=scopes)
            # Where two scopes know one name, the batch's own scope is meant: it comes last.
            ordered = sorted(matches, key=lambda entry: entry.scope == batch.scope)
            self.by_client_id |= {str(entry.client_id): entry for entry in ordered}

    def find(self, end: EdgeEnd, i: int, side: str) -> MemoryEntry:
        entry = self.by_id.get(end.id) if end.id else self.by_client_id.get(end.client_id)
        if entry is None:
            raise Invalid(
                "An edge points at an entry that does not exist.",
                issues=[
                    {
                        "path": f"edges.{i}.{side}",
                        "message": f"no entry {end.id or end.client_id} here or in this batch",
                    }
                ],
            )
        return entry
