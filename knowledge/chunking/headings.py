"""Sections of a text with the path of their headings. Pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

TITLE_LENGTH = 200  # characters of a heading that are stored
MAX_DEPTH = 8  # headings in a path
MAX_FRONT_MATTER = 10_000  # characters

# Metadata in YAML at the beginning of a file, between two lines of dashes.
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?=[\w-]+[ \t]*:)(?:.*\n)*?---[ \t]*\r?(?:\n|\Z)")
_METADATA_TITLE = re.compile(r"^title[ \t]*:[ \t]*([^\s>|].*)", re.MULTILINE)
_ATX = re.compile(r" {0,3}(#{1,6})[ \t]")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_SETEXT = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_RULE = re.compile(r"([=\-`:'\"~^_*+#<>])\1{2,}[ \t]*$")
_LABEL = re.compile(r"\A {0,3}(?:[-*+>|]|\d+[.)]|\.\. )")

Heading = tuple[int, int, str]  # start, level, title


@dataclass(frozen=True, slots=True)
class HeadingSection:
    start: int
    headings: tuple[str, ...]


def split_markdown_sections(text: str) -> list[HeadingSection]:
    """Return the sections under `#` and underlined headings.

    Lines in a code fence and in front matter are ignored.
    """
    body_start = len(_get_front_matter(text))
    headings = _find_markdown_headings(list(_split_lines(text)))
    return _build_sections(each for each in headings if each[0] >= body_start)


def find_metadata_title(text: str) -> str:
    """Return the title in the front matter of a Markdown text, or an empty string."""
    title = _METADATA_TITLE.search(_get_front_matter(text))
    return title[1].strip().strip("\"'") if title else ""


def _get_front_matter(text: str) -> str:
    front_matter = _FRONT_MATTER.match(text[:MAX_FRONT_MATTER])
    return front_matter[0] if front_matter else ""


def split_plain_sections(text: str) -> list[HeadingSection]:
    """Return the sections under underlined titles, as in reStructuredText.

    The first style of underline in the text is the top level.
    """
    return _build_sections(_find_underlined_headings(list(_split_lines(text))))


def _split_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the start of each line, and the line without its end."""
    start = 0
    for line in text.split("\n"):
        yield start, line.removesuffix("\r")
        start += len(line) + 1


def _build_sections(headings: Iterable[Heading]) -> list[HeadingSection]:
    path: list[tuple[int, str]] = []
    sections = [HeadingSection(0, ())]
    for start, level, title in headings:
        while path and path[-1][0] >= level:
            path.pop()
        path.append((level, title[:TITLE_LENGTH]))
        if start == 0:
            sections.clear()
        sections.append(HeadingSection(start, tuple(title for _, title in path[-MAX_DEPTH:])))
    return sections


def _find_markdown_headings(lines: list[tuple[int, str]]) -> Iterator[Heading]:
    fence = ""
    for number, (start, line) in enumerate(lines):
        if opened := _FENCE.match(line):
            mark = opened[1]
            if not fence:
                fence = mark
            elif mark.startswith(fence) and not line[opened.end() :].strip():
                fence = ""
        elif fence:
            continue
        elif (match := _ATX.match(line)) and (title := _strip_closing_marks(line[match.end() :])):
            yield (start, len(match[1]), title)
        elif (under := _SETEXT.match(line)) and number and _is_title(lines[number - 1][1]):
            level = 1 if under[1][0] == "=" else 2
            yield (lines[number - 1][0], level, lines[number - 1][1].strip())


def _strip_closing_marks(line: str) -> str:
    title = line.strip()
    bare = title.rstrip("#")
    return bare.rstrip() if bare[-1:] in ("", " ", "\t") else title


def _is_title(line: str) -> bool:
    return bool(line.strip()) and not line.startswith(("    ", "\t")) and not _LABEL.match(line)


def _find_underlined_headings(lines: list[tuple[int, str]]) -> Iterator[Heading]:
    levels: dict[tuple[str, bool], int] = {}
    for number in range(1, len(lines)):
        rule, (start, title) = lines[number][1], lines[number - 1]
        over = number > 1 and lines[number - 2][1].rstrip() == rule.rstrip()
        if not _RULE.match(rule) or not _is_underlined(title, rule, allow_indent=over):
            continue
        level = levels.setdefault((rule[0], over), len(levels) + 1)
        yield (lines[number - 2][0] if over else start, level, title.strip())


def _is_underlined(title: str, rule: str, *, allow_indent: bool) -> bool:
    """Return whether a rule underlines a title. With `allow_indent`, the title may be indented."""
    plain = title.rstrip()
    return (
        bool(plain)
        and (allow_indent or not plain[0].isspace())
        and not _RULE.match(title)
        and len(rule.rstrip()) >= len(plain)
    )
