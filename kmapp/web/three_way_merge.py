"""Three-way comparison of fields that two people changed at the same time. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from merge3 import Merge3

from kmapp.web.diff import BoundedSequenceMatcher


class ChangedBy(StrEnum):
    """Who changed a field: nobody, one side or both."""

    NOBODY = "nobody"
    ME = "me"
    THEM = "them"
    SAME = "same"  # both, to the same value
    BOTH = "both"  # a person must decide


@dataclass(frozen=True, slots=True)
class Field:
    """The value of a field as displayed, as stored now, and as submitted."""

    name: str
    base: Any
    theirs: Any
    mine: Any

    @property
    def changed_by(self) -> ChangedBy:
        if self.mine == self.theirs:
            return ChangedBy.NOBODY if self.mine == self.base else ChangedBy.SAME
        if self.mine == self.base:
            return ChangedBy.THEM
        return ChangedBy.ME if self.theirs == self.base else ChangedBy.BOTH

    @property
    def value_to_edit(self) -> Any:
        """Return the value to edit next; a change made by one side only is retained."""
        return self.theirs if self.changed_by == ChangedBy.THEM else self.mine


def diff_three_way(
    names: Iterable[str],
    *,
    base: Mapping[str, Any],
    theirs: Mapping[str, Any],
    mine: Mapping[str, Any],
) -> list[Field]:
    return [Field(name, base[name], theirs[name], mine[name]) for name in names]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedText:
    text: str
    conflicts: int  # places that both sides changed, marked in the text


_MARKS = ("<<<<<<<", "=======", ">>>>>>>")


def merge_texts(base: str, theirs: str, mine: str, *, their_name: str, my_name: str) -> MergedText:
    """Combine the changes of both sides by lines. Lines changed by both are listed with marks.

    Lines that the bounded matcher does not reach count as changed.
    """
    sides = (_split_lines(base), _split_lines(theirs), _split_lines(mine))
    matcher: Any = BoundedSequenceMatcher  # the package's protocol is narrower than `difflib`
    merge = Merge3(*sides, sequence_matcher=matcher)
    parts: list[str] = []
    conflicts = 0
    for kind, *groups in merge.merge_groups():
        if kind != "conflict":
            parts += groups[0]
            continue
        conflicts += 1
        _base, their_lines, my_lines = groups
        opening, middle, closing = _MARKS
        parts += [f"{opening} {their_name}\n", *their_lines, f"{middle}\n"]
        parts += [*my_lines, f"{closing} {my_name}\n"]
    return MergedText(text="".join(parts).removesuffix("\n"), conflicts=conflicts)


def has_conflict_marks(text: str, stored: str = "") -> bool:
    """Return whether a text has lines of `merge_texts` that a person must resolve.

    Such lines of the stored text are part of it: it may explain how conflicts are resolved.
    """
    added = set(text.splitlines()) - set(stored.splitlines())
    return {_MARKS[0], _MARKS[2]} <= {line[:7] for line in added}


def _split_lines(text: str) -> list[str]:
    return [f"{line}\n" for line in text.split("\n")]
