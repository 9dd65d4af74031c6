"""The parts of a score for display, in a fixed order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

BAR_UNITS = 1000  # of a bar, for a score of 1
COLOUR_COUNT = 8
PART_LABELS: Mapping[str, str | Promise] = {
    "lexical": _("keywords"),
    "window": _("keyword matches in context"),
    "similar": _("similar words in context"),
    "dense": _("meaning"),
    "context": _("meaning in context"),
    "near": _("neighbours"),
    "run": _("same session"),
    "opening": _("opening"),
    "statement": _("statement"),
    "dated": _("states a time"),
    "specific": _("specific words"),
    "concrete": _("names and numbers"),
    "linked": _("related memories"),
    "importance": _("importance"),
    "salience": _("salience"),
    "pinned": _("pinned"),
    "fresh": _("recency"),
    "rerank": _("reranker"),
}
PART_POSITIONS = {name: place for place, name in enumerate(PART_LABELS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorePart:
    """One part of a score, with its section of the bar."""

    name: str
    label: str | Promise
    value: float
    colour: int
    x: float
    width: float

    @property
    def exact(self) -> str:
        """Return the value in machine-readable form."""
        return repr(self.value)


def build_bar(parts: Mapping[str, float]) -> list[ScorePart]:
    """Return the nonzero parts in fixed order; negative parts overlap those they reduce."""
    pieces, end = [], 0.0
    for name in sorted(parts, key=_sort_key):
        value = parts[name]
        if value:
            begin, end = end, end + value
            pieces.append(
                ScorePart(
                    name=name,
                    label=PART_LABELS.get(name, name),
                    value=value,
                    colour=_sort_key(name)[0] % COLOUR_COUNT + 1,
                    x=round(BAR_UNITS * min(begin, end), 2),
                    width=round(BAR_UNITS * abs(value), 2),
                )
            )
    return pieces


def build_legend(bars: Sequence[Sequence[ScorePart]]) -> list[ScorePart]:
    """Return each part that occurs, once."""
    parts_by_name = {part.name: part for pieces in bars for part in pieces}
    return [parts_by_name[name] for name in sorted(parts_by_name, key=_sort_key)]


def _sort_key(name: str) -> tuple[int, str]:
    return PART_POSITIONS.get(name, len(PART_POSITIONS)), name
