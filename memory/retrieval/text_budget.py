"""Memories as prompt text within a token budget. Pure except for token counts.

The text is a timeline: memories of one day follow each other below its date, each with its rank.
If not all of them fit, they are shortened to excerpts, and a memory that a better one contains is
left out. Tokens that remain are used to print the best memories in full.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from kmapp.text.terms import chinese_share, extract_terms
from memory.retrieval.prompt_excerpts import Excerpts
from memory.review.contradictions import find_contrast

HEADING = "## Relevant Memory"
EXCERPT_BUDGET_DIVISOR = 25  # memories are shortened to the budget divided by this number
MIN_EXCERPT_TOKENS = 24  # tokens to which a memory is shortened at most
CONTAINED_SHARE = 0.9  # share of the terms of a memory that a better one contains
MIN_COMPARED_TERMS = 3  # a memory with fewer terms is not compared
MIN_CHINESE_SHARE = 0.5  # a text with a larger share of Chinese is Chinese
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)

CountTokens = Callable[[str], int]


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


def build_block(
    memories: Sequence[BlockEntry], *, query: str = "", max_tokens: int | None, count: CountTokens
) -> Block:
    """Return memories as text within `max_tokens`; the first memory is the best."""
    page = _Page(memories, count)
    chosen = {place: entry.text.strip() for place, entry in enumerate(memories)}
    if max_tokens is not None and page.count_tokens(chosen) > max_tokens:
        chosen = _fit_excerpts(page, query, max_tokens)
    text = page.text(chosen)
    return Block(text=text, places=sorted(chosen), tokens=count(text))


def _fit_excerpts(page: "_Page", query: str, max_tokens: int) -> dict[int, str]:
    """Return excerpts of the memories that fit, the best ones in full if there is space."""
    excerpts = Excerpts(query, [entry.text for entry in page.memories])
    limit = max(MIN_EXCERPT_TOKENS, max_tokens // EXCERPT_BUDGET_DIVISOR)
    chosen: dict[int, str] = {}
    used = page.count_tokens({})
    for place in _list_uncontained(page.memories):
        text = excerpts.shorten(page.memories[place].text, limit, page.count)
        if used + (extra_tokens := page.count_added_tokens(place, text, chosen)) <= max_tokens:
            chosen[place] = text
            used += extra_tokens
    for place, excerpt in chosen.items():
        full_text = page.memories[place].text.strip()
        for longer in (full_text, excerpts.remove_small_talk(full_text)):
            extra_tokens = page.count_line_tokens(longer) - page.count_line_tokens(excerpt)
            if used + extra_tokens <= max_tokens:
                chosen[place] = longer
                used += extra_tokens
                break
    return chosen


def _list_uncontained(memories: Sequence[BlockEntry]) -> Iterator[int]:
    """Yield the indexes of memories that are not contained in a better one.

    Texts with different numbers, dates or negations say different things.
    """
    earlier: list[tuple[int, frozenset[str]]] = []
    for place, entry in enumerate(memories):
        own_terms = frozenset(extract_terms(entry.text))
        if not any(
            len(own_terms) >= MIN_COMPARED_TERMS
            and len(own_terms & other_terms) >= CONTAINED_SHARE * len(own_terms)
            and not find_contrast(entry.text, memories[other].text)
            for other, other_terms in earlier
        ):
            yield place
        earlier.append((place, own_terms))


class _Page:
    """The layout of chosen memories."""

    def __init__(self, memories: Sequence[BlockEntry], count: CountTokens) -> None:
        self.memories, self.count = memories, count
        years = {entry.date.year for entry in memories if entry.date}
        only = f" ({min(years)})" if len(years) == 1 else ""
        self.heading = f"{HEADING}{only}\n"
        texts = defaultdict[date, list[str]](list)
        for entry in memories:
            if entry.date:
                texts[entry.date.date()].append(entry.text)
        # The heading of each day, in one language.
        self.days = {
            day: _format_day(day, " ".join(texts[day]), with_year=len(years) > 1) for day in texts
        }

    def text(self, chosen: Mapping[int, str]) -> str:
        ranks = {place: rank for rank, place in enumerate(sorted(chosen), start=1)}
        text, last = self.heading if chosen else "", ""
        for place in sorted(chosen, key=self._sort_key):
            day = self._format_day_heading(place)
            text += day if day != last else ""
            text += _format_line(ranks[place], chosen[place])
            last = day
        return text

    def count_tokens(self, chosen: Mapping[int, str]) -> int:
        """Return the tokens of all lines; joined, they have at most as many."""
        days = {self._format_day_heading(place) for place in chosen}
        lines = sum(map(self.count_line_tokens, chosen.values()))
        return self.count(self.heading) + sum(map(self.count, days)) + lines

    def count_added_tokens(self, place: int, text: str, chosen: Mapping[int, str]) -> int:
        """Return the tokens that a memory adds, with its date unless that is printed already."""
        day = self._format_day_heading(place)
        is_printed = any(self._format_day_heading(other) == day for other in chosen)
        return self.count_line_tokens(text) + (0 if is_printed else self.count(day))

    def count_line_tokens(self, text: str) -> int:
        return self.count(_format_line(1, text))  # the rank is one token up to 999

    def _sort_key(self, place: int) -> tuple[float, str, float, int, int]:
        entry = self.memories[place]
        if entry.date is None:
            return float("inf"), entry.run, 0.0, entry.position, place
        moment = entry.date.timestamp()
        return entry.date.toordinal(), entry.run, moment, entry.position, place

    def _format_day_heading(self, place: int) -> str:
        entry = self.memories[place]
        if entry.date is None:
            return ""
        return f"\n{self.days[entry.date.date()]}\n"


def _format_line(rank: int, text: str) -> str:
    return f"[{rank}] {text}\n"


def _format_day(day: date, text: str, *, with_year: bool) -> str:
    if chinese_share(text) > MIN_CHINESE_SHARE:
        return f"{f'{day.year}年' if with_year else ''}{day.month}月{day.day}日"
    return f"{MONTHS[day.month - 1]} {day.day}{f', {day.year}' if with_year else ''}"
