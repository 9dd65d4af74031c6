"""Excerpts of memories: the sentences that a prompt needs, without small talk. Pure.

How much a sentence says is measured by its terms: those of the query count most, and a term counts
less the more of the retrieved memories contain it, so that greetings and reactions count little
whatever their words are.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kmapp.text.terms import terms

COMMON = 0.2  # share of the memories from which a term counts as common
LITTLE = 2  # uncommon terms that a sentence without a term of the query needs
IN_QUERY = 2.0  # weight of a term of the query, against another
ANCHORED = 1.5  # worth of a sentence with a number, a date or a relative time
QUESTION = 0.5  # worth of a question, against a statement
LEFT_OUT = " … "

# After two small letters or digits, so that "Dr." and initials end no sentence.
_BREAK = re.compile(r"(?<=[^\W_A-Z][^\W_A-Z][.!?])\s+|(?<=[。！？；])(?!$)|(?<!\s)\s*\n\s*")
_ANCHOR = re.compile(
    r"\d|\b(?:yesterday|today|tomorrow|ago|last|next|since|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|january|february|march|april|june|july|august|september|october|november|december)\b"
    r"|[昨今明前后去]天|[今明去前]年|[上下本]个?[周月]|[一二三四五六七八九十]{1,4}[年月日号点]",
    re.IGNORECASE,
)
_HEAD = re.compile(r"[^\W\d_][\w .'’-]{0,30}[:：]\s*")


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    terms: frozenset[str]

    @property
    def asks(self) -> bool:
        return self.text.rstrip()[-1:] in ("?", "？")


class Excerpts:
    """Excerpts of the memories that were retrieved for one query."""

    def __init__(self, query: str, texts: Sequence[str]) -> None:
        self.query = frozenset(terms(query))
        self.size = len(texts)
        self.having = Counter(term for text in texts for term in _terms(text))

    def substance(self, text: str) -> str:
        """Return the text without sentences that say little, but never without all of them."""
        head, sentences = _split(text)
        informative = [each for each in sentences if self._has_content(each)]
        statements = [each for each in informative if not each.asks or each.terms & self.query]
        chosen = statements or informative
        return head + " ".join(each.text for each in chosen) if chosen else text

    def shortened(self, text: str, limit: int, count: Callable[[str], int]) -> str:
        """Return the sentences that say most for their length, in at most `limit` tokens.

        One sentence always remains, even if it is longer.
        """
        head, sentences = _split(self.substance(text))
        if len(sentences) < 2 or count(text) <= limit:  # noqa: PLR2004
            return head + _joined(sentences, set(range(len(sentences))))
        sizes = [count(each.text) for each in sentences]
        best = sorted(
            range(len(sentences)),
            key=lambda n: (-self._worth(sentences[n]) / math.sqrt(sizes[n] + 1), n),
        )
        chosen = {best[0]}
        used = count(head) + sizes[best[0]]
        for number in best[1:]:
            if used + sizes[number] + 1 <= limit:
                chosen.add(number)
                used += sizes[number] + 1
        return head + _joined(sentences, chosen)

    def _has_content(self, sentence: _Sentence) -> bool:
        if sentence.terms & self.query:
            return True
        most = max(1.0, COMMON * self.size)
        return sum(self.having[term] <= most for term in sentence.terms) >= LITTLE

    def _worth(self, sentence: _Sentence) -> float:
        worth = sum(
            (IN_QUERY if term in self.query else 1.0)
            * math.log1p(self.size / max(1, self.having[term]))
            for term in sentence.terms
        )
        if sentence.asks:
            return QUESTION * worth
        return ANCHORED * worth if _ANCHOR.search(sentence.text) else worth


def _joined(sentences: Sequence[_Sentence], chosen: Iterable[int]) -> str:
    """Return the chosen sentences, with a mark where one between them is left out."""
    text, last = "", -1
    for number in sorted(chosen):
        separator = "" if not text else " " if number == last + 1 else LEFT_OUT
        text, last = text + separator + sentences[number].text, number
    return text


@lru_cache(maxsize=5_000)
def _split(text: str) -> tuple[str, tuple[_Sentence, ...]]:
    """Return the name of the speaker, if the text begins with one, and the sentences."""
    speaker = _HEAD.match(text)
    head = speaker[0] if speaker else ""
    parts = (part for part in _BREAK.split(text[len(head) :]) if part.strip())
    return head, tuple(_Sentence(part, frozenset(terms(part))) for part in parts)


def _terms(text: str) -> frozenset[str]:
    _, sentences = _split(text)
    return frozenset(term for each in sentences for term in each.terms)
