"""Drawing connections between memories."""

from collections.abc import Sequence
from uuid import UUID

from django.utils import timezone

from kmapp.errors import Invalid
from kmapp.ids import uuid7
from kmapp.ledger.actions import Recording
from memory.drafts import End, NewEdge
from memory.models import MemoryEdge, MemoryEntry


def draw(
    account_id: UUID,
    drafts: Sequence[NewEdge],
    batch: Sequence[MemoryEntry],
    commit: Recording,
) -> list[MemoryEdge]:
    """Write edges between entries of this batch and known ones. A known edge stays as it is."""
    if not drafts:
        return []
    ends = _Ends(account_id, drafts, batch)
    pairs = [
        (ends.find(draft.src, i, "src"), ends.find(draft.dst, i, "dst"))
        for i, draft in enumerate(drafts)
    ]
    for i, (src, dst) in enumerate(pairs):
        refuse_impossible(i, src, dst)
    known = {
        (edge.src_id, edge.dst_id, edge.type): edge
        for edge in MemoryEdge.objects.of(account_id).filter(
            src__in=[src.pk for src, _ in pairs], dst__in=[dst.pk for _, dst in pairs]
        )
    }
    edges, fresh = [], []
    for draft, (src, dst) in zip(drafts, pairs, strict=True):
        name = (src.pk, dst.pk, draft.type)
        if name not in known:
            known[name] = MemoryEdge(
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
            fresh.append(known[name])
        edges.append(known[name])
    MemoryEdge.objects.bulk_create(fresh, batch_size=500)
    commit.add_all(fresh, "ADD")
    return edges


def refuse_impossible(i: int, src: MemoryEntry, dst: MemoryEntry) -> None:
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

    def __init__(
        self, account_id: UUID, drafts: Sequence[NewEdge], batch: Sequence[MemoryEntry]
    ) -> None:
        self.by_id = {entry.pk: entry for entry in batch}
        self.by_client_id = {entry.client_id: entry for entry in batch if entry.client_id}
        wanted = [end for draft in drafts for end in (draft.src, draft.dst)]
        rows = MemoryEntry.objects.of(account_id)
        ids = {end.id for end in wanted if end.id} - self.by_id.keys()
        names = {end.client_id for end in wanted if end.client_id} - self.by_client_id.keys()
        scopes = {entry.scope for entry in batch} or {""}
        self.by_id |= rows.in_bulk(list(ids)) if ids else {}
        if names:
            found = rows.filter(client_id__in=names, scope__in=scopes)
            self.by_client_id |= {str(entry.client_id): entry for entry in found}

    def find(self, end: End, i: int, side: str) -> MemoryEntry:
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
