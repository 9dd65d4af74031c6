"""Splitter: sections stay whole if they fit, small ones are joined."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import accumulate, takewhile

from kmapp.search.passages import token_estimate
from knowledge.chunking.headings import Section, markdown_sections, plain_sections
from knowledge.chunking.languages import splitter_for

PAGE_BREAK = "\f"
SMALLEST_RATIO = 0.7  # characters a token: nothing real is denser
SLACK = 1.15  # a sentence need not be cut for a few words
LEAST = 80  # characters: a heading alone is no passage
SAMPLE = 20_000  # characters by which the length of tokens is told

_BREAK = re.compile(PAGE_BREAK)
_INK = re.compile(r"\S")


class Shape(StrEnum):
    """How a text is built."""

    PLAIN = "plain"  # paragraphs, perhaps with underlined headings
    MARKDOWN = "markdown"
    PAGES = "pages"  # with page breaks between
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Chunk:
    """One slice of a text, and where it stands."""

    index: int
    start: int
    end: int
    line_start: int
    line_end: int
    page: int | None
    headings: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    page: int | None
    headings: tuple[str, ...]


def chunked(text: str, shape: Shape, *, tokens: int, language: str = "") -> list[Chunk]:
    """Return the chunks of a text in order, each of about this many tokens or less."""
    capacity = max(LEAST, round(tokens * _token_length(text)))
    pieces = list(_pieces(text, shape, capacity, language))
    lines = list(accumulate((len(line) for line in text.split("\n")), lambda a, b: a + b + 1))
    chunks: list[Chunk] = []
    for piece in pieces:
        start, end = _inked(text, piece.start, piece.end)
        if start < end:
            chunks.append(
                Chunk(
                    index=len(chunks),
                    start=start,
                    end=end,
                    line_start=bisect_right(lines, start) + 1,
                    line_end=bisect_right(lines, end - 1) + 1,
                    page=piece.page,
                    headings=piece.headings,
                    text=text[start:end],
                )
            )
    return chunks


def _token_length(text: str) -> float:
    """How many characters of this text make a token, about: four of English, one of Chinese."""
    sample = text if len(text) <= SAMPLE else text[: SAMPLE // 2] + text[-SAMPLE // 2 :]
    return max(SMALLEST_RATIO, len(sample) / max(1, token_estimate(sample)))


def _inked(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without blank lines at its ends; indentation is preserved."""
    first = _INK.search(text, start, end)
    if not first:
        return start, start
    begin = max(start, text.rfind("\n", start, first.start()) + 1)
    while end > begin and text[end - 1].isspace():
        end -= 1
    return begin, end


def _pieces(text: str, shape: Shape, capacity: int, language: str) -> Iterator[_Piece]:
    if shape is Shape.CODE and (splitter := splitter_for(language, capacity)):
        yield from (_Piece(start, end, None, ()) for start, end in _spans(splitter, text))
        return
    if shape is Shape.PAGES:
        for page, (start, end) in enumerate(_pages(text), start=1):
            for first, last in _split(text, start, end, capacity, markdown=False):
                yield _Piece(first, last, page, ())
        return
    markdown = shape is Shape.MARKDOWN
    sections = markdown_sections(text) if markdown else plain_sections(text)
    for start, end, headings in _packed(text, sections, capacity):
        for first, last in _split(text, start, end, capacity, markdown=markdown):
            yield _Piece(first, last, None, headings)


def _pages(text: str) -> list[tuple[int, int]]:
    breaks = [match.start() for match in _BREAK.finditer(text)]
    return list(zip([0, *(b + 1 for b in breaks)], [*breaks, len(text)], strict=True))


def _packed(
    text: str, sections: Sequence[Section], capacity: int
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Small sections that follow each other travel together, under the path that they share.

    A section never joins one that stands above it: what it begins is another subject.
    """
    ends = [*(section.start for section in sections[1:]), len(text)]
    held: tuple[int, int, tuple[str, ...]] | None = None
    depth = 0  # of the first that is held
    for section, end in zip(sections, ends, strict=True):
        if held and end - held[0] <= capacity and len(section.headings) >= depth:
            held = (held[0], end, _shared(held[2], section.headings))
            continue
        if held:
            yield held
        held, depth = (section.start, end, section.headings), len(section.headings)
    if held:
        yield held


def _shared(held: tuple[str, ...], following: tuple[str, ...]) -> tuple[str, ...]:
    """Return the common prefix of two heading paths."""
    pairs = zip(held, following, strict=False)
    return tuple(one for one, other in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _split(
    text: str, start: int, end: int, capacity: int, *, markdown: bool
) -> list[tuple[int, int]]:
    """Split a span into parts within the capacity, at the largest breaks."""
    if end - start <= capacity * SLACK:
        return [(start, end)]
    spans = _spans(_prose(capacity, markdown=markdown), text[start:end])
    return [(start + first, start + last) for first, last in spans]


def _spans(splitter: "Callable[[str], list[tuple[int, str]]]", text: str) -> list[tuple[int, int]]:
    return [(first, first + len(part)) for first, part in splitter(text)]


@cache
def _prose(capacity: int, *, markdown: bool) -> "Callable[[str], list[tuple[int, str]]]":
    from semantic_text_splitter import MarkdownSplitter, TextSplitter  # noqa: PLC0415  as above

    kind = MarkdownSplitter if markdown else TextSplitter
    return kind(capacity, trim=False).chunk_indices
