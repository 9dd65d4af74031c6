"""Three-way diff of two concurrent changes of a memory, field by field."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Moved(StrEnum):
    """Who changed a field: nobody, one side or both."""

    NOBODY = "nobody"
    ME = "me"
    THEM = "them"
    ALIKE = "alike"  # both, to the same
    BOTH = "both"  # a person must look


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
