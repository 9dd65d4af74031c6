"""Noun phrases of texts, as candidates of topic labels. Pure.

English has no dictionary of parts of speech here, so a word counts as a noun by what is before and
after it in all of the texts: "the tea", "of tea", but "they steep", "to steep", "steep the". For
Chinese, the dictionary of the segmenter states it. Everyday words (greetings, reactions, verbs of
telling) and the names of speakers are no candidates.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise

from kmapp.text.everyday_words import EVERYDAY_WORDS
from kmapp.text.query_independent_features import MAX_NAME_LENGTH
from kmapp.text.terms import STOP_WORDS, TERM_LENGTH, extract_terms, tagged_chinese_words

MIN_WORD_LENGTH = 2
_CLAUSE = re.compile(r"[.,;:!?()\[\]\"“”。，；：！？、（）《》「」\n]+|(?<=\s)[-–—]+(?=\s)")
_WORD = re.compile(r"[^\W\d_](?:[\w'’-]*\w)?|\d+")
_POSSESSIVE = re.compile(r"(?<=\w)['’]s\b")
_HAN = re.compile(r"[\u3400-\u9fff]+")
_DETERMINERS = """
a an the my your his her its our their this that these those some any no each every
"""
_PREPOSITIONS = """
of in on at for with from by about into through during between against without like as
"""
_SUBJECTS = """
i you he she we they who user not never don't doesn't didn't can could will would should must may
might let do does did please i'll i'd i've we'll we've they've he's she's
"""
_OBJECTS = "the a an my your his her its our their it them him us me"
_BEFORE_NOUNS = frozenset(f"{_DETERMINERS} {_PREPOSITIONS}".split())
_BEFORE_VERBS, _AFTER_VERBS = frozenset(_SUBJECTS.split()), frozenset(_OBJECTS.split())
_FUNCTION_WORDS = STOP_WORDS | _BEFORE_NOUNS | _BEFORE_VERBS | _AFTER_VERBS
CONTEXT_WEIGHT = 2  # "to" counts 1, because it may precede nouns and verbs
_VERB_ENDINGS = ("ing", "ed", "ly")
_NOUN_TAGS = ("n", "vn", "eng", "l", "j")


class Vocabulary:
    """Counts of the noun and verb contexts of the words of some texts, by stem."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.nouns: Counter[str] = Counter()
        self.verbs: Counter[str] = Counter()
        self.heads: Counter[str] = Counter()  # last word of a phrase: no adjective
        self.spellings: dict[str, Counter[str]] = {}
        split_texts = [_split_speaker(text) for text in texts]
        self.speakers = frozenset(speaker.casefold() for speaker, _ in split_texts if speaker)
        clauses = [words for _, body in split_texts for words in _split_clauses(body)]
        for words in clauses:
            self._count_contexts(words)
        for words in clauses:
            self.heads.update(run[-1] for run in self._list_noun_runs(words))

    def _count_contexts(self, words: Sequence[str]) -> None:
        folded = [word.casefold() for word in words]
        stems = [_find_stem(word) for word in folded]
        for position, (word, stem) in enumerate(zip(words, stems, strict=True)):
            if _HAN.search(word):
                continue
            # The first word of a clause has a capital in any case.
            self.spellings.setdefault(stem, Counter())[word if position else folded[position]] += 1
        for position in range(1, len(words)):
            before, word = folded[position - 1], folded[position]
            self.nouns[stems[position]] += CONTEXT_WEIGHT * (before in _BEFORE_NOUNS)
            self.verbs[stems[position]] += CONTEXT_WEIGHT * (before in _BEFORE_VERBS) + (
                before == "to"
            )
            self.verbs[stems[position - 1]] += CONTEXT_WEIGHT * (
                word in _AFTER_VERBS or word.endswith("ly")
            )

    def _list_noun_runs(self, words: Sequence[str]) -> Iterator[list[str]]:
        """Yield the stems of consecutive nouns and what modifies them."""
        for is_noun, run in groupby(map(str.casefold, words), self._is_noun):
            if is_noun:
                yield [_find_stem(word) for word in run]

    def list_phrases(self, text: str) -> list[str]:
        """Return the noun phrases of a text, of one and two stems, joined by a space."""
        _, body = _split_speaker(text)
        phrases = list(_list_chinese_nouns(body))
        for words in _split_clauses(body):
            for run in self._list_noun_runs(words):
                phrases += [word for word in run if self.heads[word]]
                phrases += [" ".join(pair) for pair in pairwise(run) if self.heads[pair[1]]]
        return phrases

    def spell(self, phrase: str) -> str:
        """Return a phrase in the most frequent spelling of its words."""
        best = (self.spellings.get(word, Counter({word: 1})) for word in phrase.split(" "))
        return " ".join(min(each, key=lambda w: (-each[w], w)) for each in best)

    def _is_noun(self, word: str) -> bool:
        if (
            not MIN_WORD_LENGTH <= len(word) <= TERM_LENGTH
            or not word[0].isalpha()
            or _HAN.search(word)
            or word in _FUNCTION_WORDS
            or word in EVERYDAY_WORDS
            or any(name.startswith(word) for name in self.speakers)  # short forms as well
            or not _find_stem(word)
        ):
            return False
        nouns, verbs = self.nouns[_find_stem(word)], self.verbs[_find_stem(word)]
        return nouns >= verbs if nouns else not verbs and not word.endswith(_VERB_ENDINGS)


@lru_cache(maxsize=50_000)
def _find_stem(word: str) -> str:
    return next(iter(extract_terms(word)), "")


def _split_speaker(text: str) -> tuple[str, str]:
    """Return the speaker whose name begins the text, or "", and the rest."""
    end = text.find(": ", 0, MAX_NAME_LENGTH)
    return (text[:end], text[end + 2 :]) if end > 0 else ("", text)


def _split_clauses(text: str) -> Iterator[list[str]]:
    for clause in _CLAUSE.split(_POSSESSIVE.sub(" ", text)):
        if words := _WORD.findall(clause):
            yield words


def _list_chinese_nouns(text: str) -> Iterator[str]:
    """Yield the Chinese nouns of a text."""
    for run in _HAN.findall(text):
        for word, tag in tagged_chinese_words(run):
            is_noun = tag.startswith(_NOUN_TAGS) and len(word) >= MIN_WORD_LENGTH
            if is_noun and word not in STOP_WORDS and word not in EVERYDAY_WORDS:
                yield word


def count_texts_by_phrase(phrases: Iterable[Iterable[str]]) -> Counter[str]:
    """Return the number of texts that contain each phrase."""
    return Counter(phrase for each in phrases for phrase in set(each))
