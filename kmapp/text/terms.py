"""Tokenization of Chinese, English and mixed text into search terms.

Pure and deterministic: the writer of postings and the reader of queries call `extract_terms`.
Changing what it returns means indexing every text again.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache, partial
from itertools import chain, pairwise
from typing import Any, cast

TERM_LENGTH = 64  # a sha256 in hex still fits; of longer strings, only the beginning counts
MAX_CACHED_LENGTH = 256  # characters of a word; longer ones would fill the memory

_MAX_WORD_LENGTH = 8  # characters of a Chinese word at the beginning of a text
_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\uac00-\ud7af"  # Thai, kana, hangul
_LETTER = rf"[^\W_{_HAN}{_UNSPACED}]"
_RUN = re.compile(
    rf"(?P<han>[{_HAN}]+)|(?P<unspaced>[{_UNSPACED}]+)|(?P<word>{_LETTER}+(?:[-_.@/+:]+{_LETTER}+)*)"
)
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:[-_.@/+:]+[a-z0-9]+)*")  # what `word` matches in ASCII
_PIECE = re.compile(r"[^\W_]+")
# "don't" is dropped; of "Ann's" and "they'll" the word remains.
_CONTRACTION = re.compile(r"\b\w+n['’`]t\b|(?<=\w)['’`](?:s|d|m|ll|re|ve)\b")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_HAN_CHARACTER = re.compile(f"[{_HAN}]")
_SPACED_WORD = re.compile(rf"{_LETTER}+")

# Function words and question words.
_ENGLISH = """
a about after again all am an and any are as at be because been before being both but by can
could did do does doing down during each few for from further had has have having he her here
hers herself him himself his how i if in into is it its itself just me more most my myself no
nor not now of off on once only or other our ours ourselves out over own same she should so
some such than that the their theirs them themselves then there these they this those through
to too under until up very was we were what when where which while who whom why will with
would you your yours yourself yourselves
"""
_CHINESE = """
的 了 和 是 在 就 都 而 及 与 着 或 一个 没有 我们 你们 他们 她们 它们 是否 这 那 这个
那个 这些 那些 我 你 您 他 她 它 也 还 又 很 被 把 将 对 从 到 由 向 为 以 于 之 其 等 中
上 下 有 不 吗 呢 吧 啊 呀 哪 哪些 哪个 哪里 谁 什么 怎么 怎样 如何 为什么 多少 几 何时 个
并 且 但 但是 因为 所以 如果 以及 关于 可以 会 能 要 说 去 来 让 给 地 得 所 时候
"""
STOP_WORDS = frozenset(_ENGLISH.split() + _CHINESE.split())


def normalise(text: str) -> str:
    """Return the text with composed characters and newlines as line ends."""
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))


def extract_terms(text: str) -> list[str]:
    """Return the terms of a text, repeated as often as they occur.

    E-mail addresses, versions and identifiers are included whole and in pieces.
    """
    plain = _fold_term(text)
    if "," in plain:
        plain = _THOUSANDS.sub("", plain)
    if "'" in plain or "’" in plain or "`" in plain:
        plain = _CONTRACTION.sub("", plain)
    if plain.isascii():
        return list(chain.from_iterable(map(_word, _ASCII_WORD.findall(plain))))
    return [
        term for run in _RUN.finditer(plain) for term in _READERS[cast(str, run.lastgroup)](run[0])
    ]


def find_first_term(text: str) -> str:
    """Return the first term of a text, or an empty string if it is a stop word."""
    return _find_first_term(text[:TERM_LENGTH])


@lru_cache(maxsize=30_000)  # the same memories are candidates again and again
def _find_first_term(text: str) -> str:
    run = _RUN.search(_fold_term(text))
    if run is None:
        return ""
    if han := run["han"]:
        first = next(_han(han[:_MAX_WORD_LENGTH]), "")
        return first if han.startswith(first) else ""
    return next(iter(_READERS[cast(str, run.lastgroup)](run[0])), "")


def chinese_share(text: str) -> float:
    """Return the share of Chinese words in a text, 0 to 1."""
    if text.isascii() or not (characters := _HAN_CHARACTER.findall(text)):
        return 0.0
    han = len(characters) / 1.5
    return han / (han + len(_SPACED_WORD.findall(text)))


def chinese_words(run: str) -> list[str]:
    """Return the dictionary words of a run of Chinese characters."""
    cut, _ = _get_segmenters()
    return cut(run)


def tagged_chinese_words(run: str) -> list[tuple[str, str]]:
    """Return the dictionary words of a run of Chinese characters with their parts of speech."""
    from rjieba import tag  # noqa: PLC0415 - the dictionary takes memory

    return list(tag(run, hmm=False))


def _fold_term(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _han(run: str) -> Iterator[str]:
    """Yield dictionary words, the parts of long ones, and pairs of uncovered characters.

    The segmenter does not guess new words: it would segment a name differently in each sentence,
    while the pairs of its characters are always the same.
    """
    cut, cut_for_search = _get_segmenters()
    yield from (word for word in cut_for_search(run) if word not in STOP_WORDS)
    for before, after in pairwise(cut(run)):
        if len(before) == len(after) == 1 and not STOP_WORDS.issuperset((before, after)):
            yield before + after


def _unspaced(run: str) -> Iterator[str]:
    """Yield pairs of characters, for scripts without spaces and without a dictionary."""
    yield from ("".join(pair) for pair in pairwise(run)) if len(run) > 1 else run


def _word(run: str) -> tuple[str, ...]:
    return _split_word(run) if len(run) <= MAX_CACHED_LENGTH else _split_word.__wrapped__(run)


@lru_cache(maxsize=50_000)
def _split_word(run: str) -> tuple[str, ...]:
    pieces = _PIECE.findall(run)
    whole = (run,) if len(pieces) > 1 else ()
    terms = (*whole, *(_stem(piece) for piece in pieces if piece not in STOP_WORDS))
    return tuple(term[:TERM_LENGTH] for term in terms)


_READERS: dict[str, Callable[[str], Iterable[str]]] = {
    "han": _han,
    "unspaced": _unspaced,
    "word": _word,
}


@cache
def _get_segmenters() -> tuple[Callable[[str], list[str]], Callable[[str], list[str]]]:
    """Return the segmenters, loaded on first use because the dictionary takes memory."""
    from rjieba import cut, cut_for_search  # noqa: PLC0415

    return partial(cut, hmm=False), partial(cut_for_search, hmm=False)


def _stem(word: str) -> str:
    # Only the beginning of a long word counts, which stemming does not change.
    return _stem_word(word) if len(word) <= MAX_CACHED_LENGTH else word


@lru_cache(maxsize=50_000)
def _stem_word(word: str) -> str:
    # Each word gets its own stemmer, because a stemmer stores the word and threads run
    # concurrently.
    return cast(str, _get_stemmers()("english").stemWord(word))


@cache
def _get_stemmers() -> Callable[[str], Any]:
    """Return the factory of stemmers by language, loaded on first use."""
    from snowballstemmer import stemmer  # noqa: PLC0415

    return cast(Callable[[str], Any], stemmer)
