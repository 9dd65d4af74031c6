"""Writing of edges between memories."""

from collections.abc import Container, Sequence
from uuid import UUID

from django.utils import timezone

from kmapp.accounts.models import AccountQuerySet
from kmapp.database.ids import uuid7
from kmapp.errors import Conflict, Invalid
from kmapp.ledger.actions import Recording
from memory.actions.entry_locks import lock_against_erasure
from memory.models import MemoryEdge, MemoryEntry
from memory.models.entry_input import Batch, EdgeEnd, NewEdge

Origin, Type = MemoryEdge.Origin, MemoryEdge.Type
# Types that judge another memory. A reviewer must see such an edge when they decide about its
# source, so agents cannot add it to an existing memory.
JUDGING_TYPES = frozenset({Type.SUPERSEDES, Type.CONTRADICTS})

EdgeKey = tuple[UUID, UUID, str]  # source, destination, type


def write_edges(
    account_id: UUID,
    batch: Batch,
    entries: Sequence[MemoryEntry],
    created: Container[UUID],
    commit: Recording,
) -> list[MemoryEdge]:
    """Write the edges of a batch; `created` holds the ids of entries that the batch creates.

    An existing written edge stays unchanged; a derived one is replaced.
    """
    drafts = batch.edges
    if not drafts:
        return []
    ends = _EdgeEnds(account_id, batch, entries)
    pairs = [
        (ends.get(draft.src, i, "src"), ends.get(draft.dst, i, "dst"))
        for i, draft in enumerate(drafts)
    ]
    for i, (src, dst) in enumerate(pairs):
        validate_edge_ends(i, src, dst)
    rows = MemoryEdge.objects.of(account_id).filter(
        src__in=[src.pk for src, _ in pairs], dst__in=[dst.pk for _, dst in pairs]
    )
    existing = {(edge.src_id, edge.dst_id, edge.type): edge for edge in rows}
    written = {key: edge for key, edge in existing.items() if edge.origin == Origin.WRITTEN}
    edges, new_edges = [], []
    for i, (draft, (src, dst)) in enumerate(zip(drafts, pairs, strict=True)):
        key = (src.pk, dst.pk, draft.type)
        if key not in written:
            if draft.type in JUDGING_TYPES and commit.actor.kind == "key" and src.pk not in created:
                raise Invalid(
                    f"Only a memory of the same batch can be the source of a {draft.type} edge.",
                    code="edge_after_entry",
                    issues=[{"path": f"edges.{i}.src", "message": "was written before this batch"}],
                )
            written[key] = _build_edge(account_id, draft, src, dst, commit)
            new_edges.append(written[key])
        edges.append(written[key])
    stale = [edge.pk for key, edge in existing.items() if key in written and not edge.commit_id]
    if stale:
        MemoryEdge.objects.of(account_id).filter(pk__in=stale).delete()
    _lock_ends(account_id, new_edges, created)
    MemoryEdge.objects.bulk_create(new_edges, batch_size=500)
    commit.add_all(new_edges, "ADD")
    return edges


def _lock_ends(account_id: UUID, edges: Sequence[MemoryEdge], created: Container[UUID]) -> None:
    """Prevent the erasure of the ends that existed before this batch."""
    ends = {pk for edge in edges for pk in (edge.src_id, edge.dst_id) if pk not in created}
    if erased := ends - lock_against_erasure(account_id, ends):
        raise Conflict(
            "A memory at the end of an edge was erased in the meantime. Remove the edge and try"
            " again.",
            code="edge_end_erased",
            details={"ids": sorted(map(str, erased))},
        )


def delete_edges(edges: AccountQuerySet[MemoryEdge], commit: Recording) -> None:
    """Delete edges. The commit records the erasure of those that agents or people wrote."""
    rows = list(edges.select_for_update(of=("self",)).order_by("pk"))
    for edge in rows:
        if edge.commit_id:
            commit.erase(MemoryEdge._meta.label_lower, edge.pk)
    MemoryEdge.objects.of(commit.account_id).filter(pk__in=[edge.pk for edge in rows]).delete()


def _build_edge(
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


class _EdgeEnds:
    """The entries at the ends of all edges of a batch, loaded with at most two queries."""

    def __init__(self, account_id: UUID, batch: Batch, entries: Sequence[MemoryEntry]) -> None:
        self.by_id = {entry.pk: entry for entry in entries}
        self.by_client_id = {entry.client_id: entry for entry in entries if entry.client_id}
        ends = [end for draft in batch.edges for end in (draft.src, draft.dst)]
        rows = MemoryEntry.objects.of(account_id)
        ids = {end.id for end in ends if end.id} - self.by_id.keys()
        names = {end.client_id for end in ends if end.client_id} - self.by_client_id.keys()
        self.by_id |= rows.in_bulk(list(ids)) if ids else {}
        if names:
            scopes = {batch.scope, *(entry.scope for entry in entries)}
            matches = rows.filter(client_id__in=names, scope__in=scopes)
            # If two scopes use one client id, the scope of the batch wins: it comes last.
            ordered = sorted(matches, key=lambda entry: entry.scope == batch.scope)
            self.by_client_id |= {str(entry.client_id): entry for entry in ordered}

    def get(self, end: EdgeEnd, i: int, side: str) -> MemoryEntry:
        entry = self.by_id.get(end.id) if end.id else self.by_client_id.get(end.client_id)
        if entry is None:
            message = f"no entry {end.id or end.client_id} in this account or batch"
            raise Invalid(
                "An edge points at an entry that does not exist.",
                issues=[{"path": f"edges.{i}.{side}", "message": message}],
            )
        return entry
