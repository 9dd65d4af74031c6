"""Merge of two memories, field by field. Pure except for column names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.text import capfirst

from memory.models import MemoryEntry
from memory.models.entries import OWNER_IDS

EXISTING, NEW, BOTH = "known", "new", "both"
LIST_FIELDS = ("tags", "entities")
MERGED_FIELDS = ("content", "title", "kind", *LIST_FIELDS, "slots", "importance", "confidence")


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeChoice:
    """A field in which two memories differ, and the memory whose value is used."""

    name: str
    label: str
    existing: Any
    new: Any
    chosen: str

    @property
    def existing_label(self) -> Any:
        return MemoryEntry.label_value(self.name, self.existing)

    @property
    def new_label(self) -> Any:
        return MemoryEntry.label_value(self.name, self.new)

    @property
    def may_be_both(self) -> bool:
        return self.name in LIST_FIELDS


def list_choices(
    existing: MemoryEntry, new: MemoryEntry, picked: Mapping[str, str]
) -> list[MergeChoice]:
    """Return the fields that differ. By default texts are new and lists are joined."""
    choice_list = []
    for name in MERGED_FIELDS:
        existing_value, new_value = getattr(existing, name), getattr(new, name)
        if existing_value == new_value:
            continue
        default = BOTH if name in LIST_FIELDS else NEW if new_value else EXISTING
        selected = picked.get(name, default)
        is_valid = selected in (EXISTING, NEW) or (selected == BOTH and name in LIST_FIELDS)
        field = MemoryEntry._meta.get_field(name)
        choice_list.append(
            MergeChoice(
                name=name,
                label=capfirst(str(field.verbose_name)),  # type: ignore[union-attr]
                existing=existing_value,
                new=new_value,
                chosen=selected if is_valid else default,
            )
        )
    return choice_list


def build_merged_values(
    existing: MemoryEntry, new: MemoryEntry, chosen: Sequence[MergeChoice]
) -> dict[str, Any]:
    """Return the merged memory, with the sources of both."""
    values = {each.name: each.new for each in chosen if each.chosen == NEW}
    for each in chosen:
        if each.chosen == BOTH:
            values[each.name] = list(dict.fromkeys([*each.existing, *each.new]))
    new_sources = [source for source in new.sources if source not in existing.sources]
    return values | ({"sources": [*existing.sources, *new_sources]} if new_sources else {})


def has_same_audience(one: MemoryEntry, other: MemoryEntry) -> bool:
    """Return whether the same viewers see both, since a merge must not add viewers."""
    audience, other_audience = ((each.visibility, each.scope) for each in (one, other))
    if audience != other_audience or one.visibility == MemoryEntry.Visibility.ACCOUNT:
        return audience == other_audience
    return all(getattr(one, name) == getattr(other, name) for name in OWNER_IDS)
