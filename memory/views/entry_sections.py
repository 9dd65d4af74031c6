"""Sections of the page of a memory: comparison of versions, edges, ratings."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.http import QueryDict
from django.utils.text import capfirst

from kmapp.web.http import parse_row_number
from memory.models import MemoryEdge, MemoryEntry, MemoryRating, MemoryVersion
from memory.retrieval.as_of import PastState
from memory.topics import neighbour_circle_layout

MAX_NEIGHBOURS = 50
MAX_RATINGS = 50
TEXT_FIELDS = ("title", "content")
UNCOMPARED_FIELDS = frozenset({"version", "updated_at"})  # these differ between any two versions


def list_ratings(account_id: UUID, pk: UUID) -> list[MemoryRating]:
    rows = MemoryRating.objects.of(account_id).filter(entry_id=pk).select_related("commit")
    return list(rows.order_by("-created_at", "-pk")[:MAX_RATINGS])


def list_edges(account_id: UUID, pk: UUID) -> list[dict[str, Any]]:
    rows = MemoryEdge.objects.of(account_id).select_related("src", "dst")
    touching = rows.filter(Q(src_id=pk) | Q(dst_id=pk)).order_by("type", "-weight", "pk")
    return [
        {
            "edge": edge,
            "other": edge.dst if edge.src_id == pk else edge.src,
            "outward": edge.src_id == pk,
        }
        for edge in touching[:MAX_NEIGHBOURS]
    ]


def build_drawing(edge_rows: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    if not edge_rows:
        return None
    labels = [
        (str(row["other"]), str(row["edge"].get_type_display()), bool(row["outward"]))
        for row in edge_rows
    ]
    return {
        "spots": neighbour_circle_layout.place_on_circle(labels),
        "width": neighbour_circle_layout.WIDTH,
        "height": neighbour_circle_layout.HEIGHT,
        "x": neighbour_circle_layout.WIDTH // 2,
        "y": neighbour_circle_layout.HEIGHT // 2,
    }


def find_state_at(row: MemoryEntry, moment: datetime) -> MemoryEntry | None:
    """Return the memory as it was at an instant, or None if it was not written yet."""
    present = MemoryEntry.objects.of(row.account_id).filter(pk=row.pk)
    past = PastState(account_id=row.account_id, at=moment, present=present).load_entries(present)
    return next(iter(past), None)


def compare_versions(account_id: UUID, pk: UUID, params: QueryDict) -> dict[str, Any] | None:
    """Return the two selected versions, earlier first, or None."""
    numbers = [
        n for name in ("from", "to") if (n := parse_row_number(params.get(name, ""))) is not None
    ]
    rows = MemoryVersion.objects.of(account_id).filter(entry_id=pk, version__in=numbers)
    versions = {row.version: row for row in rows}
    pair = [versions[number] for number in sorted(numbers) if number in versions]
    if len(pair) != 2:  # noqa: PLR2004 - a pair
        return None
    old, new = pair
    names = (old.state.keys() | new.state.keys()) - UNCOMPARED_FIELDS
    differ = sorted(name for name in names if old.state.get(name) != new.state.get(name))

    def compare(name: str) -> tuple[str, str, str]:
        before, after = (format_value(name, version.state.get(name)) for version in pair)
        return _format_field_name(name), before, after

    return {
        "old": old,
        "new": new,
        "texts": [compare(name) for name in TEXT_FIELDS if name in differ],
        "facts": [compare(name) for name in differ if name not in TEXT_FIELDS],
    }


def _format_field_name(name: str) -> str:
    fields = {field.attname: field for field in MemoryEntry._meta.concrete_fields}
    return capfirst(str(fields[name].verbose_name)) if name in fields else name


def format_value(name: str, value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(MemoryEntry.label_value(name, value))
