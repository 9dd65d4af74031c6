"""Splitting of texts into chunks: sections stay whole if they fit, and small ones are joined."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import import_module
from itertools import accumulate, takewhile

from kmapp.search.passage_templates import estimate_tokens
from knowledge.chunking.headings import (
    HeadingSection,
    split_markdown_sections,
    split_plain_sections,
)

MIN_CHARACTERS_PER_TOKEN = 0.7  # no real text is denser
SLACK = 1.15  # a section may exceed the capacity by a few words before it is split
MIN_CHUNK_CHARACTERS = 80  # a heading alone is not a passage
SAMPLE_LENGTH = 20_000  # characters from which the token length is estimated
# Programming languages with a grammar, whose texts are split at definitions.
LANGUAGES = {"c", "go", "java", "javascript", "python", "ruby", "rust", "typescript", "tsx"}

Splitter = Callable[[str], list[tuple[int, str]]]
# A span of the text with its page and the path of its headings.
Span = tuple[int, int, int | None, tuple[str, ...]]


class Shape(StrEnum):
    PLAIN = "plain"  # paragraphs, perhaps with underlined headings
    MARKDOWN = "markdown"
    PAGES = "pages"  # separated by form feeds
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A slice of a text with its position."""

    index: int
    start: int
    end: int
    line_start: int
    line_end: int
    page: int | None
    headings: tuple[str, ...]
    text: str


def split_chunks(text: str, shape: Shape, *, tokens: int, language: str = "") -> list[Chunk]:
    """Return the chunks of a text in order, each of about this many tokens or less."""
    # About four characters of English make a token, one of Chinese.
    sample = (
        text
        if len(text) <= SAMPLE_LENGTH
        else text[: SAMPLE_LENGTH // 2] + text[-SAMPLE_LENGTH // 2 :]
    )
    characters_per_token = max(
        MIN_CHARACTERS_PER_TOKEN, len(sample) / max(1, estimate_tokens(sample))
    )
    capacity = max(MIN_CHUNK_CHARACTERS, round(tokens * characters_per_token))
    lines = list(accumulate((len(line) for line in text.split("\n")), lambda a, b: a + b + 1))
    chunks: list[Chunk] = []
    for span_start, span_end, page, headings in _split_spans(text, shape, capacity, language):
        start, end = _trim_span(text, span_start, span_end)
        if start < end:
            chunks.append(
                Chunk(
                    index=len(chunks),
                    start=start,
                    end=end,
                    line_start=bisect_right(lines, start) + 1,
                    line_end=bisect_right(lines, end - 1) + 1,
                    page=page,
                    headings=headings,
                    text=text[start:end],
                )
            )
    return chunks


def _trim_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without blank lines at its ends; indentation is preserved."""
    first = re.compile(r"\S").search(text, start, end)
    if not first:
        return start, start
    begin = max(start, text.rfind("\n", start, first.start()) + 1)
    while end > begin and text[end - 1].isspace():
        end -= 1
    return begin, end


def _split_spans(text: str, shape: Shape, capacity: int, language: str) -> Iterator[Span]:
    if shape is Shape.CODE and language in LANGUAGES:
        for start, part in _get_code_splitter(language, capacity)(text):
            yield start, start + len(part), None, ()
        return
    if shape is Shape.PAGES:
        start = 0
        for page, page_text in enumerate(text.split("\f"), start=1):
            end = start + len(page_text)
            for first, last in _split_span(text, start, end, capacity, markdown=False):
                yield first, last, page, ()
            start = end + 1
        return
    markdown = shape is Shape.MARKDOWN
    sections = split_markdown_sections(text) if markdown else split_plain_sections(text)
    for start, end, headings in _join_sections(text, sections, capacity):
        for first, last in _split_span(text, start, end, capacity, markdown=markdown):
            yield first, last, None, headings


def _join_sections(
    text: str, sections: Sequence[HeadingSection], capacity: int
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Join small adjacent sections under the heading path that they share.

    A section is never joined to a deeper one before it, because it starts a new subject.
    """
    ends = [*(section.start for section in sections[1:]), len(text)]
    joined: tuple[int, int, tuple[str, ...]] | None = None
    depth = 0  # of the first section in `joined`
    for section, end in zip(sections, ends, strict=True):
        if joined and end - joined[0] <= capacity and len(section.headings) >= depth:
            pairs = zip(joined[2], section.headings, strict=False)
            shared = takewhile(lambda pair: pair[0] == pair[1], pairs)
            joined = (joined[0], end, tuple(heading for heading, _ in shared))
            continue
        if joined:
            yield joined
        joined, depth = (section.start, end, section.headings), len(section.headings)
    if joined:
        yield joined


def _split_span(
    text: str, start: int, end: int, capacity: int, *, markdown: bool
) -> list[tuple[int, int]]:
    """Split a span into parts within the capacity, at the largest breaks."""
    if end - start <= capacity * SLACK:
        return [(start, end)]
    parts = _get_prose_splitter(capacity, markdown=markdown)(text[start:end])
    return [(start + first, start + first + len(part)) for first, part in parts]


# The splitters are imported where they are needed: most processes never split a text.


@cache
def _get_prose_splitter(capacity: int, *, markdown: bool) -> Splitter:
    from semantic_text_splitter import MarkdownSplitter, TextSplitter  # noqa: PLC0415

    kind = MarkdownSplitter if markdown else TextSplitter
    return kind(capacity, trim=False).chunk_indices


@cache
def _get_code_splitter(language: str, capacity: int) -> Splitter:
    from semantic_text_splitter import CodeSplitter  # noqa: PLC0415

    if language in ("typescript", "tsx"):  # one module has the grammars of both
        grammar = getattr(import_module("tree_sitter_typescript"), f"language_{language}")()
    else:
        grammar = import_module(f"tree_sitter_{language}").language()
    return CodeSplitter(grammar, capacity, trim=False).chunk_indices
