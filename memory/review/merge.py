"""Merge of two memories, field by field. Pure except for column names."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
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


class Moved(StrEnum):
    """Who changed a field: nobody, one side or both."""

    NOBODY = "nobody"
    ME = "me"
    THEM = "them"
    ALIKE = "alike"  # both, to the same
    BOTH = "both"  # a person must decide


@dataclass(frozen=True, slots=True)
class Field:
    """The value of a field as displayed, as stored now, and as submitted."""

    name: str
    base: Any
    theirs: Any
    mine: Any

    @property
    def moved(self) -> Moved:
        if self.mine == self.theirs:
            return Moved.NOBODY if self.mine == self.base else Moved.ALIKE
        if self.mine == self.base:
            return Moved.THEM
        return Moved.ME if self.theirs == self.base else Moved.BOTH

    @property
    def offered(self) -> Any:
        """Return the value to edit next; a change made by one side only is retained."""
        return self.theirs if self.moved == Moved.THEM else self.mine


def diff_three_way(
    names: Iterable[str],
    *,
    base: Mapping[str, Any],
    theirs: Mapping[str, Any],
    mine: Mapping[str, Any],
) -> list[Field]:
    return [Field(name, base[name], theirs[name], mine[name]) for name in names]
