"""Sources of a memory that are stored here. Inside `acting`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from memory.models import MemoryEdge, MemoryEntry

BEFORE, AFTER = 8, 3  # turns of a conversation
MOST = 20  # memories that are named
RUN_NAMES = ("run_id", "conversation_id", "session_id", "run")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Memories that this one was derived from or names, and turns around it in its runs."""

    named: Sequence[MemoryEntry]
    turns: Sequence[MemoryEntry]


def sources_of(entry: MemoryEntry) -> Sources:
    references = [*_strings([*entry.sources, entry.raw_ref, entry.evidence_ref])]
    rows = MemoryEntry.objects.of(entry.account_id).exclude(pk=entry.pk)
    edges = MemoryEdge.objects.of(entry.account_id).filter(
        src=entry, type=MemoryEdge.Type.DERIVED_FROM
    )
    ids = {pk for _, text in references if (pk := _uuid(text))}
    ids |= set(edges.values_list("dst_id", flat=True)[:MOST])
    named = list(rows.filter(pk__in=ids).order_by("observed_at", "pk")[:MOST])
    runs = {text for name, text in references if name in RUN_NAMES and text} | {entry.run_id} - {""}
    turns = rows.filter(run_id__in=runs).exclude(pk__in=ids).order_by("observed_at", "position")
    until = turns.filter(observed_at__lte=entry.observed_at).reverse()[:BEFORE]
    since = turns.filter(observed_at__gt=entry.observed_at)[:AFTER]
    return Sources(named=named, turns=[*reversed(until), *since] if runs else [])


def _strings(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield every string of a JSON value with its key."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _strings(one, key)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one, name)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
