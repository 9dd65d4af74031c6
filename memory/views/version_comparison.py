"""Comparison of two versions of a memory."""

from typing import Any
from uuid import UUID

from django.http import QueryDict

from kmapp.web.http import parse_row_number
from memory.models import MemoryEntry, MemoryVersion

TEXTS = ("title", "content")
# These differ between any two versions.
NOT_COMPARED = frozenset({"version", "updated_at"})


def comparison(account_id: UUID, pk: UUID, params: QueryDict) -> dict[str, Any] | None:
    """Return the two selected versions, earlier first, or None."""
    numbers = [
        n for name in ("from", "to") if (n := parse_row_number(params.get(name, ""))) is not None
    ]
    rows = MemoryVersion.objects.of(account_id).filter(entry_id=pk, version__in=numbers)
    pair = list(rows.order_by("version"))
    if len(pair) != 2:  # noqa: PLR2004 - a pair
        return None
    old, new = pair
    names = (old.state.keys() | new.state.keys()) - NOT_COMPARED
    differ = sorted(name for name in names if old.state.get(name) != new.state.get(name))
    return {
        "old": old,
        "new": new,
        "texts": [
            (_label(name), str(old.state.get(name, "")), str(new.state.get(name, "")))
            for name in TEXTS
            if name in differ
        ],
        "facts": [
            (_label(name), _format_value(old.state.get(name)), _format_value(new.state.get(name)))
            for name in differ
            if name not in TEXTS
        ],
    }


def _label(name: str) -> Any:
    fields = {field.attname: field for field in MemoryEntry._meta.concrete_fields}
    return fields[name].verbose_name if name in fields else name


def _format_value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)
