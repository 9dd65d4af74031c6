"""Splitting of long texts into passages at paragraphs and sentences. Pure.

Fast, because it runs while an agent waits; deterministic, because vectors refer to passages by
index.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kmapp.search.passage_templates import estimate_tokens

PASSAGE_TOKENS = 320  # estimated tokens: the embedding model reads 400, including the template
MAX_CHARACTERS = 1_200  # characters, because the estimate fails for text without words

_BREAK = re.compile(r".*?(?:\n+|[。！？]|[.!?](?=\s)|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TextPassage:
    """The text from `start` to `end`, in characters."""

    start: int
    end: int
    text: str


def split_passages(text: str) -> list[TextPassage]:
    result: list[TextPassage] = []
    start = end = size = 0
    for piece in split_sentences(text):
        more = estimate_tokens(piece)
        if size and (size + more > PASSAGE_TOKENS or end - start + len(piece) > MAX_CHARACTERS):
            result.append(TextPassage(start, end, text[start:end]))
            start, size = end, 0
        end, size = end + len(piece), size + more
    if end > start:
        result.append(TextPassage(start, end, text[start:end]))
    return result


def split_sentences(text: str) -> Iterator[str]:
    """Yield sentences, cut where they are too long."""
    for match in _BREAK.finditer(text):
        sentence = match[0]
        step = MAX_CHARACTERS if estimate_tokens(sentence) <= PASSAGE_TOKENS else PASSAGE_TOKENS
        for index in range(0, len(sentence), step):
            yield sentence[index : index + step]
