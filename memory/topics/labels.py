"""Topic labels: noun phrases that distinguish some texts from others. Pure."""

import math
from collections.abc import Iterable, Sequence

from kmapp.text.terms import extract_terms
from memory.topics.noun_phrases import Vocabulary, count_texts_by_phrase

MAX_PHRASES = 2  # of a label
MIN_WORTH_SHARE = 0.5  # of the worth of the first phrase, which a second one needs
MIN_PHRASE_SHARE = 0.5  # of a word's texts in which a longer phrase must contain it to replace it


class Background:
    """The texts of a group, whose topics are labelled by what sets them apart."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.size = len(texts)
        self.vocabulary = Vocabulary(texts)
        self.phrases = {text: self.vocabulary.list_phrases(text) for text in texts}
        self.text_counts = count_texts_by_phrase(self.phrases[text] for text in texts)

    def is_small_talk(self, text: str) -> bool:
        """Return whether one of the texts has no phrase that a topic could be about."""
        return not self.phrases[text]

    def name(self, texts: Sequence[str]) -> str:
        """Return the most characteristic phrases of some of the texts, or "" if they have none."""
        counts = count_texts_by_phrase(self.phrases[text] for text in texts)
        for phrase in [each for each in counts if " " in each]:
            if counts[phrase] < max(
                2, MIN_PHRASE_SHARE * min(counts[word] for word in phrase.split(" "))
            ):
                del counts[phrase]
        worth = {
            phrase: count
            * math.log(1 + self.size / self.text_counts[phrase])
            * (1 + phrase.count(" ") / 2)
            for phrase, count in counts.items()
        }
        chosen: list[str] = []
        for phrase in sorted(worth, key=lambda each: (-worth[each], each)):
            if len(chosen) == MAX_PHRASES or (
                chosen and worth[phrase] < MIN_WORTH_SHARE * worth[chosen[0]]
            ):
                break
            if not _overlaps(phrase, chosen):
                chosen.append(phrase)
        return ", ".join(map(self.vocabulary.spell, chosen))


def _overlaps(phrase: str, others: Iterable[str]) -> bool:
    """Return whether a phrase has a word of the others, in any form."""
    words = set(extract_terms(phrase))
    return any(
        phrase in other or other in phrase or words & set(extract_terms(other)) for other in others
    )
