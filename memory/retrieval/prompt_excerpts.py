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
from typing import TypeAlias

from kmapp.runtime.in_process_caches import LruCache
from kmapp.text.terms import extract_terms

COMMON_SHARE = 0.2  # share of the memories from which a term counts as common
MIN_UNCOMMON_TERMS = 2  # uncommon terms that a sentence without a term of the query needs
QUERY_TERM_WEIGHT = 2.0  # weight of a term of the query, against another
ANCHOR_FACTOR = 1.5  # worth of a sentence with a number, a date or a relative time
QUESTION_FACTOR = 0.5  # worth of a question, against a statement
ELLIPSIS = " … "
MAX_CACHED_CHARACTERS = 2_000_000  # of texts whose sentences are cached
ENTRY_CHARACTERS = 200  # counted for each cached text besides its length

# A full stop ends a sentence only after two lower-case letters or digits: not in "Dr." or "J.".
_BREAK = re.compile(r"(?<=[^\W_A-Z][^\W_A-Z][.!?])\s+|(?<=[。！？；])(?!$)|(?<!\s)\s*\n\s*")
_ANCHOR = re.compile(
    r"\d|\b(?:yesterday|today|tomorrow|ago|last|next|since|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|january|february|march|april|june|july|august|september|october|november|december)\b"
    r"|[昨今明前后去]天|[今明去前]年|[上下本]个?[周月]|[一二三四五六七八九十]{1,4}[年月日号点]",
    re.IGNORECASE,
)
_SPEAKER = re.compile(r"[^\W\d_][\w .'’-]{0,30}[:：]\s*")


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    terms: frozenset[str]

    @property
    def is_question(self) -> bool:
        return self.text.rstrip()[-1:] in ("?", "？")


_Split: TypeAlias = tuple[str, tuple[_Sentence, ...]]
_splits: LruCache[_Split] = LruCache(
    MAX_CACHED_CHARACTERS,
    size_of=lambda split: ENTRY_CHARACTERS + sum(len(each.text) for each in split[1]),
)


class Excerpts:
    """Excerpts of the memories that were retrieved for one query."""

    def __init__(self, query: str, texts: Sequence[str]) -> None:
        self.query = frozenset(extract_terms(query))
        self.text_total = len(texts)
        self.text_counts: Counter[str] = Counter()  # of texts that contain a term
        for text in texts:
            _, sentences = _split_sentences(text)
            self.text_counts.update({term for each in sentences for term in each.terms})

    def remove_small_talk(self, text: str) -> str:
        """Return the text without sentences that say little, but never without all of them."""
        head, sentences = _split_sentences(text)
        informative = [each for each in sentences if self._has_content(each)]
        statements = [
            each for each in informative if not each.is_question or each.terms & self.query
        ]
        chosen = statements or informative
        return head + " ".join(each.text for each in chosen) if chosen else text

    def shorten(self, text: str, limit: int, count: Callable[[str], int]) -> str:
        """Return the sentences that say most for their length, in at most `limit` tokens.

        One sentence always remains, even if it is longer.
        """
        head, sentences = _split_sentences(self.remove_small_talk(text))
        if len(sentences) < 2 or count(text) <= limit:  # noqa: PLR2004
            return head + _join_sentences(sentences, set(range(len(sentences))))
        sizes = [count(each.text) for each in sentences]
        best = sorted(
            range(len(sentences)),
            key=lambda n: (-self._score_sentence(sentences[n]) / math.sqrt(sizes[n] + 1), n),
        )
        chosen = {best[0]}
        used = count(head) + sizes[best[0]]
        for number in best[1:]:
            if used + sizes[number] + 1 <= limit:
                chosen.add(number)
                used += sizes[number] + 1
        return head + _join_sentences(sentences, chosen)

    def _has_content(self, sentence: _Sentence) -> bool:
        if sentence.terms & self.query:
            return True
        max_texts = max(1.0, COMMON_SHARE * self.text_total)
        return (
            sum(self.text_counts[term] <= max_texts for term in sentence.terms)
            >= MIN_UNCOMMON_TERMS
        )

    def _score_sentence(self, sentence: _Sentence) -> float:
        score = sum(
            (QUERY_TERM_WEIGHT if term in self.query else 1.0)
            * math.log1p(self.text_total / max(1, self.text_counts[term]))
            for term in sentence.terms
        )
        if sentence.is_question:
            return QUESTION_FACTOR * score
        return ANCHOR_FACTOR * score if _ANCHOR.search(sentence.text) else score


def _join_sentences(sentences: Sequence[_Sentence], chosen: Iterable[int]) -> str:
    """Return the chosen sentences, with a mark where one between them is left out."""
    text, last = "", -1
    for number in sorted(chosen):
        separator = "" if not text else " " if number == last + 1 else ELLIPSIS
        text, last = text + separator + sentences[number].text, number
    return text


def _split_sentences(text: str) -> _Split:
    """Return the name of the speaker, if the text begins with one, and the sentences."""
    split = _splits.get(text)
    if split is None:
        speaker = _SPEAKER.match(text)
        speaker_prefix = speaker[0] if speaker else ""
        parts = (part for part in _BREAK.split(text[len(speaker_prefix) :]) if part.strip())
        sentences = tuple(_Sentence(part, frozenset(extract_terms(part))) for part in parts)
        split = speaker_prefix, sentences
        _splits.put(text, split)
    return split
