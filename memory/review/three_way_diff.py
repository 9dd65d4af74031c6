"""Three-way diff of two concurrent changes of a memory, field by field."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Moved(StrEnum):
    """Who changed a field."""

    NOBODY = "nobody"
    ME = "me"
    THEM = "them"
    ALIKE = "alike"  # both, to the same
    BOTH = "both"  # a person must look


@dataclass(frozen=True, slots=True)
class Field:
    """One field three times: as it was seen, as it is now, as it was typed."""

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
        """What to go on with: nobody's change is lost where only one of them made one."""
        return self.theirs if self.moved == Moved.THEM else self.mine


def diff_three_way(
    names: Iterable[str],
    *,
    base: Mapping[str, Any],
    theirs: Mapping[str, Any],
    mine: Mapping[str, Any],
) -> list[Field]:
    return [Field(name, base[name], theirs[name], mine[name]) for name in names]
