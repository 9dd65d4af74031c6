"""Topic labels: terms that distinguish some texts from others. Pure."""

import math
import re
from collections import Counter
from collections.abc import Sequence

from kmapp.text.terms import TERM_LENGTH, terms

WORDS = 3
SURFACE = re.compile(r"[^\W\d_][\w-]*")
LEAST = 2  # characters, or letters of a word in Latin script


class Background:
    """The number of grouped texts that contain each term."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.size = len(texts)
        self.having = Counter(term for text in texts for term in set(terms(text)))

    def name(self, texts: Sequence[str]) -> str:
        """Return the most characteristic terms of these texts."""
        inside = Counter(term for text in texts for term in set(terms(text)))
        worth = {
            term: count * math.log((self.size + 1) / self.having[term])
            for term, count in inside.items()
            if len(term) >= LEAST and not term.isdigit()
        }
        best = sorted(worth, key=lambda term: (-worth[term], term))
        surfaces = _surfaces(texts)
        chosen: list[str] = []
        for term in best:
            word = surfaces.get(term, term)
            if not any(word in other or other in word for other in chosen):
                chosen.append(word)
            if len(chosen) == WORDS:
                break
        return ", ".join(chosen)


def _surfaces(texts: Sequence[str]) -> dict[str, str]:
    """Return the most frequent spelling of each term."""
    counted: dict[str, Counter[str]] = {}
    for text in texts:
        for word in SURFACE.findall(text.casefold()):
            if len(word) <= TERM_LENGTH and len(word_terms := terms(word)) == 1:
                counted.setdefault(word_terms[0], Counter())[word] += 1
    return {term: min(words, key=lambda w: (-words[w], w)) for term, words in counted.items()}
