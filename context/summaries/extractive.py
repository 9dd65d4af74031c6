"""Short accounts of long texts, made of their own sentences. Pure."""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Any

from kmapp.text.terms import terms

LEAST, MOST = 200, 500  # characters of a summary of a text that is longer
QUERY = 500
SOURCES = 10
LONGEST_PIECE = 240  # a "sentence" of JSON or code has no end
ASKED = 10.0  # what a word of the question counts, against how often a word occurs
SHORTEST_NAME, LONGEST_NAME = 2, 200  # characters of a source that a line names
CONSIDERED = 1_500  # pieces of a text; the rest is like them

_END = re.compile(r"(?<=[。！？!?])|(?<=\.)\s+|\n+")
_LINK = re.compile(r"https?://[^\s\"'<>()\[\]，。；、）】]+")
_NAMED = re.compile(
    r"^[^\S\n]*+(?:[-*#>][^\S\n]*+)*+(?:来源|出处|Source|File|文件|文档)"
    r"[^\S\n]*+[:：]([^\n]*+)",
    re.IGNORECASE | re.MULTILINE,
)
# What a tool's input calls its question.
_QUESTIONS = ("query", "question", "q", "search", "keyword", "keywords", "prompt", "url", "path")


def summary(text: str, query: str = "") -> str:
    """From 200 to 500 characters of the text's own sentences; a shorter text whole, on one line.

    The sentences that hold most of the words that the text keeps repeating and that were asked
    for, in the order of the text.
    """
    line = " ".join(text.split())
    if len(line) <= LEAST:
        return line
    pieces = list(islice(_pieces(text), CONSIDERED))
    chosen = _chosen(pieces, _weights(pieces, query))
    told = " ".join(pieces[at] for at in sorted(chosen))
    return told if len(told) >= LEAST else f"{told} {line}"[:MOST]


def _pieces(text: str) -> list[str]:
    found = (" ".join(piece.split()) for piece in _END.split(text))
    return [
        piece[at : at + LONGEST_PIECE]
        for piece in found
        for at in range(0, len(piece), LONGEST_PIECE)
    ]


def _weights(pieces: list[str], query: str) -> list[float]:
    words = [frozenset(terms(piece)) for piece in pieces]
    often = Counter(word for each in words for word in each)
    asked = frozenset(terms(query))
    return [
        sum(math.log1p(often[word]) + ASKED * (word in asked) for word in each) / (8 + len(each))
        for each in words
    ]


def _chosen(pieces: list[str], weights: list[float]) -> set[int]:
    best = sorted(range(len(pieces)), key=lambda at: (-weights[at], at))
    chosen: set[int] = set()
    seen: set[str] = set()
    length = -1  # the first piece needs no space before it
    for at in best:
        longer = length + 1 + len(pieces[at])
        if longer > MOST or pieces[at] in seen:
            continue
        chosen.add(at)
        seen.add(pieces[at])
        length = longer
        if length >= LEAST:
            break
    return chosen


def query_summary(tool_input: Any) -> str:
    """What a tool was asked, in one line."""
    if isinstance(tool_input, Mapping):
        for name in _QUESTIONS:
            said = tool_input.get(name)
            if isinstance(said, str) and said.strip():
                return " ".join(said.split())[:QUERY]
    if not tool_input:
        return ""
    said = tool_input if isinstance(tool_input, str) else json.dumps(tool_input, ensure_ascii=False)
    return " ".join(said.split())[:QUERY]


def sources_of(text: str) -> list[str]:
    """Where a text says that it comes from: named sources, then links, most frequent first."""
    names = (found[1].strip() for found in _NAMED.finditer(text))
    named = Counter(name for name in names if SHORTEST_NAME <= len(name) <= LONGEST_NAME)
    links = Counter(found[0].rstrip(".,;:!?") for found in _LINK.finditer(text))
    best = [name for name, _ in (*named.most_common(SOURCES), *links.most_common(SOURCES))]
    return list(dict.fromkeys(best))[:SOURCES]
