"""Extractive summaries of long texts, and of the older turns of a conversation. Pure."""

import json
import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from context.archives.placeholders import fold_text
from context.assembly.messages import Message, message_text, split_turns
from context.assembly.prompt_fence import escape_tags
from kmapp.text import token_counter
from kmapp.text.terms import extract_terms

MIN_LENGTH, MAX_LENGTH = 200, 500  # characters of a summary
MAX_QUERY = 500
MAX_SOURCES = 10
MAX_SENTENCE = 240  # because JSON and code have no sentence ends
QUERY_WEIGHT = 10.0  # weight of a query term against the log frequency
MIN_SOURCE, MAX_SOURCE = 2, 200  # characters of a source's name
MAX_LINK = 500  # characters; a longer one, perhaps with data in it, identifies no source
MAX_SENTENCES = 1_500  # per text, for speed

_END = re.compile(r"(?<=[。！？!?])|(?<=\.)\s+|\n+")
_LINK = re.compile(r"https?://[^\s\"'<>()\[\]，。；、）】]+")
_NAMED = re.compile(
    r"^[^\S\n]*+(?:[-*#>][^\S\n]*+)*+(?:来源|出处|Source|File|文件|文档)"
    r"[^\S\n]*+[:：]([^\n]*+)",
    re.IGNORECASE | re.MULTILINE,
)
# Keys of a tool's input that hold its query.
_QUERY_KEYS = ("query", "question", "q", "search", "keyword", "keywords", "prompt", "url", "path")


def summarise_text(text: str, query: str = "") -> str:
    """Return 200 to 500 characters of the text's own sentences; a shorter text on one line.

    Selects the sentences with most frequent terms and query terms, in the order of the text.
    """
    line = " ".join(text.split())
    if len(line) <= MIN_LENGTH:
        return line
    pieces = list(islice(_split_sentences(text), MAX_SENTENCES))
    selected = _select_sentences(pieces, _weigh_sentences(pieces, query))
    result = " ".join(pieces[index] for index in sorted(selected))
    return result if len(result) >= MIN_LENGTH else f"{result} {line}"[:MAX_LENGTH]


def _split_sentences(text: str) -> list[str]:
    sentences = (" ".join(piece.split()) for piece in _END.split(text))
    return [
        piece[index : index + MAX_SENTENCE]
        for piece in sentences
        for index in range(0, len(piece), MAX_SENTENCE)
    ]


def _weigh_sentences(pieces: list[str], query: str) -> list[float]:
    words = [frozenset(extract_terms(piece)) for piece in pieces]
    frequencies = Counter(word for sentence_terms in words for word in sentence_terms)
    query_terms = frozenset(extract_terms(query))
    weights = {
        word: math.log1p(frequencies[word]) + QUERY_WEIGHT * (word in query_terms)
        for word in frequencies
    }
    return [sum(weights[word] for word in one) / (8 + len(one)) for one in words]


def _select_sentences(pieces: list[str], weights: list[float]) -> set[int]:
    best = sorted(range(len(pieces)), key=lambda index: (-weights[index], index))
    selected: set[int] = set()
    seen: set[str] = set()
    length = -1  # the first piece needs no space before it
    for index in best:
        new_length = length + 1 + len(pieces[index])
        if new_length > MAX_LENGTH or pieces[index] in seen:
            continue
        selected.add(index)
        seen.add(pieces[index])
        length = new_length
        if length >= MIN_LENGTH:
            break
    return selected


def summarise_query(tool_input: Any) -> str:
    """Return the query of a tool's input on one line."""
    if isinstance(tool_input, Mapping):
        for name in _QUERY_KEYS:
            value = tool_input.get(name)
            if isinstance(value, str) and value.strip():
                return " ".join(value.split())[:MAX_QUERY]
    if not tool_input:
        return ""
    text = tool_input
    if not isinstance(text, str):
        text = json.dumps(tool_input, ensure_ascii=False)
    return " ".join(text.split())[:MAX_QUERY]


def extract_sources(text: str) -> list[str]:
    """Return named sources, then links, most frequent first."""
    names = (match[1].strip() for match in _NAMED.finditer(text))
    named = Counter(name for name in names if MIN_SOURCE <= len(name) <= MAX_SOURCE)
    urls = (match[0].rstrip(".,;:!?") for match in _LINK.finditer(text))
    links = Counter(url for url in urls if len(url) <= MAX_LINK)
    best = [name for name, _ in (*named.most_common(MAX_SOURCES), *links.most_common(MAX_SOURCES))]
    return list(dict.fromkeys(best))[:MAX_SOURCES]


# --- Conversations --------------------------------------------------------------------------------

QUESTION_LENGTH, ANSWER_LENGTH = 160, 280  # characters
_TURN_WORDS = {
    "en": ("Summary of {n} earlier turns of this conversation:", "user", "assistant"),
    "zh": ("此前{n}轮对话的摘要：", "用户", "助手"),
}
_OMITTED = {"en": "(the first {n} are left out)", "zh": "（最早的{n}轮从略）"}


def summarise_turns(messages: Sequence[Message], language: str, max_tokens: int) -> str:
    """Return a summary of at most `max_tokens`; the latest turns have precedence."""
    lines = [_render_turn(messages, turn, language) for turn in split_turns(messages)]
    head = _TURN_WORDS[language][0].format(n=len(lines))

    def render(first: int) -> str:
        omitted = [_OMITTED[language].format(n=first)] if first else []
        return "\n".join([head, *omitted, *lines[first:]])

    def fits(first: int) -> bool:
        return token_counter.count_tokens(render(first)) <= max_tokens

    if fits(0):
        return render(0)
    # Bisected, because a conversation may have thousands of turns.
    first = 1 + bisect_left(range(1, len(lines) + 1), x=True, key=fits)
    return render(first) if first <= len(lines) else head


def _render_turn(messages: Sequence[Message], turn: range, language: str) -> str:
    _head, user, assistant = _TURN_WORDS[language]
    texts = [(messages[index]["role"], message_text(messages[index])) for index in turn]
    question = " ".join(text for role, text in texts if role == "user")
    answers = [text for role, text in texts if role == "assistant" and text.strip()]
    answer = answers[-1] if answers else ""
    line = f"- {user}: {fold_text(question, QUESTION_LENGTH)}"
    if answer:
        line += f" → {assistant}: {fold_text(answer, ANSWER_LENGTH)}"
    return escape_tags(line)
