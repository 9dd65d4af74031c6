"""Sections of a memory's page: versions, proofs, edges, ratings."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q

from kmapp.ledger.models import Commit
from kmapp.ledger.verify import Claim, proven
from memory.models import MemoryEdge, MemoryEntry, MemoryRating, MemoryVersion
from memory.retrieval.as_of import Past
from memory.topics import layout as places

VERSIONS = 50  # on one page
NEIGHBOURS = 50
RATINGS = 50


def steps(account_id: UUID, pk: UUID) -> tuple[list[dict[str, Any]], int]:
    """Return versions newest first with commit and proof; and 1 if there are more, else 0."""
    versions = MemoryVersion.objects.of(account_id).filter(entry_id=pk).order_by("-version")
    states = list(versions[: VERSIONS + 1])
    commits = Commit.objects.of(account_id).in_bulk([state.commit_id for state in states])
    proofs = proven(
        account_id,
        MemoryEntry._meta.label_lower,
        pk,
        [Claim(commit_id=state.commit_id, state=state.state) for state in states],
    )
    before = [*states[1:], None]
    neighbour_rows = [
        {
            "state": state,
            "before": earlier,
            "commit": commits.get(state.commit_id),
            "proven": proofs[state.commit_id],
        }
        for state, earlier in zip(states[:VERSIONS], before, strict=False)
    ]
    return neighbour_rows, max(0, len(states) - VERSIONS)


def ratings(account_id: UUID, pk: UUID) -> list[MemoryRating]:
    """Return the ratings, newest first."""
    rows = MemoryRating.objects.of(account_id).filter(entry_id=pk).select_related("commit")
    return list(rows.order_by("-created_at", "-pk")[:RATINGS])


def edges(account_id: UUID, pk: UUID) -> list[dict[str, Any]]:
    """Return the edges in both directions."""
    rows = MemoryEdge.objects.of(account_id).select_related("src", "dst")
    touching = rows.filter(Q(src_id=pk) | Q(dst_id=pk)).order_by("type", "-weight", "pk")
    return [
        {
            "edge": edge,
            "other": edge.dst if edge.src_id == pk else edge.src,
            "outward": edge.src_id == pk,
        }
        for edge in touching[:NEIGHBOURS]
    ]


def drawing(neighbour_rows: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the nearest neighbours as a drawing; the list contains more."""
    if not neighbour_rows:
        return None
    named = [
        (str(one["other"]), str(one["edge"].get_type_display()), bool(one["outward"]))
        for one in neighbour_rows
    ]
    return {
        "spots": places.place_on_circle(named),
        "width": places.WIDTH,
        "height": places.HEIGHT,
        "x": places.WIDTH // 2,
        "y": places.HEIGHT // 2,
    }


def as_it_was(row: MemoryEntry, moment: datetime) -> MemoryEntry | None:
    """Return the memory at an instant, or None before it was written."""
    mine = MemoryEntry.objects.of(row.account_id).filter(pk=row.pk)
    was = Past(account_id=row.account_id, at=moment, present=mine).entries(mine)
    return was[0] if was else None
