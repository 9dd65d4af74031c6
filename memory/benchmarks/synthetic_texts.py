"""Synthetic texts with a realistic distribution of words.

Made of invented words, so that no text means or names anything. The same seed, the same texts.
"""

from dataclasses import dataclass
from functools import cache
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ONSETS = [*"bcdfghjklmnprstvwz", "br", "ch", "dr", "gl", "pr", "sh", "st", "tr"]
VOWELS = [*"aeiou", "ai", "ea", "oo", "ou"]
CODAS = ["", "", "", "l", "n", "r", "s", "t"]
HANZI = (
    "一人大小天地山水火木土金日月星云风雨花草树林果米面茶酒鱼鸟马牛羊门窗桌纸笔书信车船路桥城乡"
    "东西南北春夏秋冬早晚年岁时分快慢高低长短新旧红黄蓝绿黑白声音光影心手足目耳口头身衣食住行走"
    "听看读写问答学教工农商医兵友客主家国民市场店楼房屋室厅院园田河湖海江岸沙石铁钢铜银玉"
)
VOCABULARY = 20_000
EXPONENT = 1.05  # of the frequency of the word with a rank: about that of a spoken language
SHORTEST, MEDIAN, SPREAD, LONGEST = 4, 18, 0.6, 120  # words of a text: log-normal


class Vocabulary(NamedTuple):
    """Words by rank, with the cumulative frequency of each rank."""

    english: "NDArray[np.str_]"
    chinese: "NDArray[np.str_]"
    frequencies: "NDArray[np.float64]"


@cache
def vocabulary() -> Vocabulary:
    """Return the vocabulary, which is the same in every run."""
    shape = Random(7)  # noqa: S311 - invented words, no secrets
    english = np.array([_english_word(shape) for _ in range(VOCABULARY)])
    chinese = np.array(["".join(shape.sample(HANZI, 2)) for _ in range(VOCABULARY)])
    weights = 1.0 / np.arange(10, VOCABULARY + 10) ** EXPONENT
    return Vocabulary(english, chinese, np.cumsum(weights / weights.sum()))


@dataclass
class Writer:
    """Generator of texts: mostly English, some Chinese."""

    rng: np.random.Generator
    chinese_share: float = 0.3

    def texts(self, number: int) -> list[str]:
        drawn = self.rng.lognormal(np.log(MEDIAN), SPREAD, number)
        lengths = np.clip(drawn, SHORTEST, LONGEST).astype(int)
        ranks = np.searchsorted(vocabulary().frequencies, self.rng.random(int(lengths.sum())))
        ranks = np.minimum(ranks, VOCABULARY - 1)
        chinese = self.rng.random(number) < self.chinese_share
        ends = np.cumsum(lengths)
        return [
            self._text(ranks[end - length : end], chinese=bool(is_chinese))
            for end, length, is_chinese in zip(ends, lengths, chinese, strict=True)
        ]

    def queries(self, number: int, *, chinese: bool) -> list[str]:
        """Return questions of about five words, most of them rare."""
        ranks = self.rng.integers(20, VOCABULARY // 10, (number, 5))
        return [self._text(each, chinese=chinese) for each in ranks]

    def _text(self, ranks: "NDArray[np.int64]", *, chinese: bool) -> str:
        if chinese:
            return "".join(vocabulary().chinese[ranks]) + "。"
        return (" ".join(vocabulary().english[ranks]) + ".").capitalize()


def _english_word(shape: Random) -> str:
    return "".join(
        shape.choice(part) for _ in range(shape.randint(1, 3)) for part in (ONSETS, VOWELS, CODAS)
    )
