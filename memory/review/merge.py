"""Merge of two memories, field by field. Pure except for column names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory.models import MemoryEntry

EXISTING, NEW, BOTH = "known", "new", "both"
LISTS = ("tags", "entities")
OWNER_IDS = ("user_id", "agent_id", "app_id", "run_id")
FIELDS = ("content", "title", "kind", *LISTS, "slots", "importance", "confidence")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A field in which two memories differ, and the memory whose value is used."""

    name: str
    label: str
    existing: Any
    new: Any
    chosen: str

    @property
    def may_be_both(self) -> bool:
        return self.name in LISTS


def choices(existing: MemoryEntry, new: MemoryEntry, picked: Mapping[str, str]) -> list[Choice]:
    """Return the fields that differ. By default texts are new and lists are joined."""
    choice_list = []
    for name in FIELDS:
        here, there = getattr(existing, name), getattr(new, name)
        if here == there:
            continue
        usual = BOTH if name in LISTS else NEW if there else EXISTING
        selected = picked.get(name, usual)
        valid = selected in (EXISTING, NEW) or (selected == BOTH and name in LISTS)
        label = str(MemoryEntry._meta.get_field(name).verbose_name)  # type: ignore[union-attr]
        choice_list.append(
            Choice(
                name=name,
                label=label,
                existing=here,
                new=there,
                chosen=selected if valid else usual,
            )
        )
    return choice_list


def merged(existing: MemoryEntry, new: MemoryEntry, chosen: Sequence[Choice]) -> dict[str, Any]:
    """Return the merged memory, with the sources of both."""
    values = {each.name: each.new for each in chosen if each.chosen == NEW}
    for each in chosen:
        if each.chosen == BOTH:
            values[each.name] = list(dict.fromkeys([*each.existing, *each.new]))
    more = [source for source in new.sources if source not in existing.sources]
    return values | ({"sources": [*existing.sources, *more]} if more else {})


def same_audience(one: MemoryEntry, other: MemoryEntry) -> bool:
    """Return whether the same viewers see both, since a merge must not add viewers."""
    here, there = ((each.visibility, each.scope) for each in (one, other))
    if here != there or one.visibility == MemoryEntry.Visibility.ACCOUNT:
        return here == there
    return all(getattr(one, name) == getattr(other, name) for name in OWNER_IDS)
