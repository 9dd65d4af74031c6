"""Topic labels: noun phrases that distinguish some texts from others. Pure."""

import math
from collections.abc import Iterable, Sequence

from kmapp.text.terms import terms
from memory.topics.noun_phrases import Vocabulary, document_frequencies

PHRASES = 2  # of a label
WORTHY = 0.5  # of the worth of the first phrase, which a second one needs
COHERENT = 0.5  # of a word's texts in which a longer phrase must contain it to replace it


class Background:
    """The texts of a group, whose topics are labelled by what sets them apart."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.size = len(texts)
        self.vocabulary = Vocabulary(texts)
        self.phrases = {text: self.vocabulary.phrases(text) for text in texts}
        self.having = document_frequencies(self.phrases[text] for text in texts)

    def is_small_talk(self, text: str) -> bool:
        """Return whether one of the texts has no phrase that a topic could be about."""
        return not self.phrases[text]

    def name(self, texts: Sequence[str]) -> str:
        """Return the most characteristic phrases of some of the texts, or "" if they have none."""
        inside = document_frequencies(self.phrases[text] for text in texts)
        for phrase in [each for each in inside if " " in each]:
            if inside[phrase] < max(2, COHERENT * min(inside[word] for word in phrase.split(" "))):
                del inside[phrase]
        worth = {
            phrase: count
            * math.log(1 + self.size / self.having[phrase])
            * (1 + phrase.count(" ") / 2)
            for phrase, count in inside.items()
        }
        chosen: list[str] = []
        for phrase in sorted(worth, key=lambda each: (-worth[each], each)):
            if len(chosen) == PHRASES or (chosen and worth[phrase] < WORTHY * worth[chosen[0]]):
                break
            if not _overlaps(phrase, chosen):
                chosen.append(phrase)
        return ", ".join(map(self.vocabulary.spell, chosen))


def _overlaps(phrase: str, others: Iterable[str]) -> bool:
    """Return whether a phrase has a word of the others, in any form."""
    words = set(terms(phrase))
    return any(phrase in other or other in phrase or words & set(terms(other)) for other in others)
