"""Memories as prompt text within a token budget. Pure except for token counts.

The text is a timeline: memories of one day follow each other below its date, each with its rank.
If not all of them fit, they are shortened to excerpts, and a memory that a better one contains is
left out. Tokens that remain are used to print the best memories in full.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from kmapp.text.terms import chinese_share, terms
from memory.retrieval.excerpts import Excerpts
from memory.review.contradictions import contrast

HEADING = "## Relevant Memory"
SHARE = 25  # a memory is shortened if it exceeds this fraction of the budget
LEAST = 24  # tokens to which a memory is shortened at most
CONTAINED = 0.9  # share of the terms of a memory that a better one contains
FEW_TERMS = 3  # a memory with fewer terms is not compared
MOSTLY = 0.5  # a text with a larger share of Chinese is Chinese
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockEntry:
    """A memory of a prompt block."""

    text: str
    date: datetime | None = None
    run: str = ""
    position: int = 0  # in the commit that wrote it


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The text, the indexes of the memories in it, and its size."""

    text: str
    places: Sequence[int]
    tokens: int


def block(
    memories: Sequence[BlockEntry], *, query: str = "", most_tokens: int | None, count: Count
) -> Block:
    """Return memories as text within `most_tokens`; the first memory is the best."""
    page = _Page(memories, count)
    chosen = {place: entry.text.strip() for place, entry in enumerate(memories)}
    if most_tokens is not None and page.size(chosen) > most_tokens:
        chosen = _fitted(page, query, most_tokens)
    text = page.text(chosen)
    return Block(text=text, places=sorted(chosen), tokens=count(text))


def _fitted(page: "_Page", query: str, most_tokens: int) -> dict[int, str]:
    """Return excerpts of the memories that fit, the best ones in full if there is space."""
    excerpts = Excerpts(query, [entry.text for entry in page.memories])
    limit = max(LEAST, most_tokens // SHARE)
    chosen: dict[int, str] = {}
    used = page.size({})
    for place in _without_contained(page.memories):
        text = excerpts.shortened(page.memories[place].text, limit, page.count)
        if used + (added := page.added(place, text, chosen)) <= most_tokens:
            chosen[place] = text
            used += added
    for place, short in chosen.items():
        whole = page.memories[place].text.strip()
        for longer in (whole, excerpts.substance(whole)):
            added = page.line_tokens(longer) - page.line_tokens(short)
            if used + added <= most_tokens:
                chosen[place] = longer
                used += added
                break
    return chosen


def _without_contained(memories: Sequence[BlockEntry]) -> Iterator[int]:
    """Yield the indexes of memories that are not contained in a better one.

    Texts with different numbers, dates or negations say different things.
    """
    earlier: list[tuple[int, frozenset[str]]] = []
    for place, entry in enumerate(memories):
        own = frozenset(terms(entry.text))
        if not any(
            len(own) >= FEW_TERMS
            and len(own & theirs) >= CONTAINED * len(own)
            and not contrast(entry.text, memories[other].text)
            for other, theirs in earlier
        ):
            yield place
        earlier.append((place, own))


@dataclass
class _Page:
    """The layout of chosen memories."""

    memories: Sequence[BlockEntry]
    count: Count
    years: frozenset[int] = field(init=False)
    days: Mapping[date, str] = field(init=False)  # the heading of each, in one language
    heading: str = field(init=False)

    def __post_init__(self) -> None:
        self.years = frozenset(entry.date.year for entry in self.memories if entry.date)
        only = f" ({min(self.years)})" if len(self.years) == 1 else ""
        self.heading = f"{HEADING}{only}\n"
        texts = defaultdict[date, list[str]](list)
        for entry in self.memories:
            if entry.date:
                texts[entry.date.date()].append(entry.text)
        with_year = len(self.years) > 1
        self.days = {
            day: _format_day(day, chinese=_is_chinese(" ".join(texts[day])), with_year=with_year)
            for day in texts
        }

    def text(self, chosen: Mapping[int, str]) -> str:
        ranks = {place: rank for rank, place in enumerate(sorted(chosen), start=1)}
        text, last = self.heading if chosen else "", ""
        for place in sorted(chosen, key=self._order):
            day = self._day(place)
            text += day if day != last else ""
            text += _line(ranks[place], chosen[place])
            last = day
        return text

    def size(self, chosen: Mapping[int, str]) -> int:
        """Return the tokens of all lines; joined, they have at most as many."""
        days = {self._day(place) for place in chosen}
        lines = sum(map(self.line_tokens, chosen.values()))
        return self.count(self.heading) + sum(map(self.count, days)) + lines

    def added(self, place: int, text: str, chosen: Mapping[int, str]) -> int:
        """Return the tokens that a memory adds, with its date unless that is printed already."""
        day = self._day(place)
        is_printed = any(self._day(other) == day for other in chosen)
        return self.line_tokens(text) + (0 if is_printed else self.count(day))

    def line_tokens(self, text: str) -> int:
        return self.count(_line(1, text))  # the rank is one token up to 999

    def _order(self, place: int) -> tuple[float, str, float, int, int]:
        entry = self.memories[place]
        if entry.date is None:
            return float("inf"), entry.run, 0.0, entry.position, place
        moment = entry.date.timestamp()
        return entry.date.toordinal(), entry.run, moment, entry.position, place

    def _day(self, place: int) -> str:
        entry = self.memories[place]
        if entry.date is None:
            return ""
        return f"\n{self.days[entry.date.date()]}\n"


def _line(rank: int, text: str) -> str:
    return f"[{rank}] {text}\n"


def _is_chinese(text: str) -> bool:
    return chinese_share(text) > MOSTLY


def _format_day(day: date, *, chinese: bool, with_year: bool) -> str:
    if chinese:
        return f"{f'{day.year}年' if with_year else ''}{day.month}月{day.day}日"
    return f"{MONTHS[day.month - 1]} {day.day}{f', {day.year}' if with_year else ''}"
