"""Sources of a memory that are stored here. Inside `acting`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kmapp.database.ids import parse_uuid
from memory.models import MemoryEdge, MemoryEntry

MAX_EARLIER_TURNS, MAX_LATER_TURNS = 8, 3  # turns of a conversation
MAX_NAMED = 20  # memories that are named
RUN_NAMES = ("run_id", "conversation_id", "session_id", "run")


@dataclass(frozen=True, slots=True, kw_only=True)
class EntrySources:
    """Memories that this one was derived from or names, and turns around it in its runs."""

    named: Sequence[MemoryEntry]
    turns: Sequence[MemoryEntry]


def load_sources(entry: MemoryEntry) -> EntrySources:
    references = [*_walk_strings([*entry.sources, entry.raw_ref, entry.evidence_ref])]
    rows = MemoryEntry.objects.of(entry.account_id).exclude(pk=entry.pk)
    edges = MemoryEdge.objects.of(entry.account_id).filter(
        src=entry, type=MemoryEdge.Type.DERIVED_FROM
    )
    ids = {pk for _, text in references if (pk := parse_uuid(text))}
    ids |= set(edges.values_list("dst_id", flat=True)[:MAX_NAMED])
    named = list(rows.filter(pk__in=ids).order_by("observed_at", "pk")[:MAX_NAMED])
    runs = {text for name, text in references if name in RUN_NAMES and text} | {entry.run_id} - {""}
    turns = rows.filter(run_id__in=runs).exclude(pk__in=ids).order_by("observed_at", "position")
    earlier_turns = turns.filter(observed_at__lte=entry.observed_at).reverse()[:MAX_EARLIER_TURNS]
    later_turns = turns.filter(observed_at__gt=entry.observed_at)[:MAX_LATER_TURNS]
    return EntrySources(named=named, turns=[*reversed(earlier_turns), *later_turns] if runs else [])


def _walk_strings(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield every string of a JSON value with its key."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _walk_strings(one, key)
    elif isinstance(value, list):
        for one in value:
            yield from _walk_strings(one, name)
