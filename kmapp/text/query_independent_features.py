"""Features of a text for ranking: how specific it is, and whether it states a time. Pure.

They depend on the text alone. They are cached, because the same memories are candidates again and
again.
"""

import re
from functools import lru_cache
from sys import intern
from typing import NamedTuple

from kmapp.text.everyday_words import EVERYDAY_WORDS
from kmapp.text.terms import STOP_WORDS, chinese_words

MAX_CACHED_TEXTS = 30_000
FULLY_CONCRETE_COUNT = 2  # names, numbers and quotations from which a text is fully concrete
MAX_NAME_LENGTH = 32  # characters of a speaker's name at the beginning

_WORD = re.compile(r"[^\W\d_]+(?:['’]\w+)?|\d+")
_HAN = re.compile(r"[\u3400-\u9fff]+")
_QUOTES = re.compile(r"[“«《「『]|\"(?=\w)")

_NAMED_TIMES = """
May yesterday today tonight tomorrow ago recently lately since weekend morning evening
january february march april june july august september october november december
monday tuesday wednesday thursday friday saturday sunday
"""
_NAMED_PERIODS = """
week weeks month months year years night nights day days spring summer fall autumn winter
"""
_MOMENTS = frozenset(_NAMED_TIMES.split())
_PERIODS = frozenset(_NAMED_PERIODS.split())
_RELATIVE = frozenset({"last", "next", "this", "past", "coming", "previous", "following"})
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_CHINESE_TIME = re.compile(
    r"[昨今明前后]天|[去今明前后]年|[上下本这]个?(?:周|星期|礼拜|月)|周末|最近|刚才|以前"
    r"|[\d一二三四五六七八九十]{1,8}(?:年|个?月|日|号|天|点|小时|分钟)"
)
_ASKS_TIME = re.compile(
    r"\bwhen\b|\bhow (?:long|recently|soon)\b"
    r"|\b(?:what|which) (?:date|day|month|year|time|week|weekend|season)\b"
    r"|何时|什么时候|几时|多久|哪一?[天年月日周]|几[月号日点]|时间|日期",
    re.IGNORECASE,
)


class RankingFeatures(NamedTuple):
    """Features from 0 to 1, low for small talk, and the words that they were computed from."""

    specific: float  # share of words that are not everyday words
    concrete: float  # names, numbers and quotations, up to a limit
    dated: float  # 1 if it has a date or a relative time, such as "last May" or "上周"
    words: tuple[str, ...]  # distinct, in lower case; of Chinese, the words of the dictionary


def asks_for_time(query: str) -> bool:
    """Return whether a question asks for a date, a time or a duration."""
    return bool(_ASKS_TIME.search(query))


@lru_cache(maxsize=MAX_CACHED_TEXTS)
def compute_ranking_features(text: str) -> RankingFeatures:
    """Compute the features of a text, which may begin with its speaker or heading and a colon."""
    name_end = max(0, text.find(": ", 0, MAX_NAME_LENGTH))
    body = text[name_end + 2 :] if name_end else text
    tokens = _WORD.findall(body)
    only_latin = body.isascii()
    words = _to_words(tokens)
    content = [
        word for word in words if len(word) > 1 and word not in STOP_WORDS and word.isalpha()
    ]
    rare = [word for word in content if word not in EVERYDAY_WORDS]
    # Most words that begin a sentence are everyday words, so they do not count as names.
    names = sum(word[0].isupper() and word.lower() not in EVERYDAY_WORDS for word in tokens)
    numbers = sum(word.isdecimal() for word in tokens)
    named = names + numbers + len(_QUOTES.findall(body))
    return RankingFeatures(
        specific=len(rare) / len(content) if content else 0.0,
        concrete=min(1.0, named / FULLY_CONCRETE_COUNT),
        dated=float(_states_time(body, {*words, *tokens}, only_latin=only_latin)),
        words=tuple(dict.fromkeys([*_to_words(_WORD.findall(text[:name_end])), *words])),
    )


def _states_time(body: str, words: set[str], *, only_latin: bool) -> bool:
    if words & _MOMENTS or (words & _RELATIVE and words & _PERIODS):
        return True
    return bool(_YEAR.search(body) or (not only_latin and _CHINESE_TIME.search(body)))


def _to_words(tokens: list[str]) -> list[str]:
    """Return tokens in lower case, and of Chinese, which has no spaces, the dictionary words."""
    words: list[str] = []
    for token in tokens:
        word = token.lower()
        words += map(intern, chinese_words(word) if _HAN.match(word) else (word,))
    return words
