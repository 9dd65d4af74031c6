"""Synthetic entries with realistic distributions of words, vectors, users, runs and ages.

Texts consist of invented words without a meaning. The same seed always gives the same entries.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from itertools import count
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from django.utils import timezone
from numpy.typing import NDArray

from kmapp.database.ids import uuid7
from memory.models import MemoryEntry

TOPICS = 400
# Squares of the shares of the common direction, of the topic, and of the text itself. They give
# cosines like those of multilingual-e5-small: about .78 between any two texts, .88 within a topic.
COMMON, TOPIC, OWN = 0.78, 0.10, 0.12
# Real texts differ in far fewer directions than a vector has dimensions. Otherwise all texts of a
# topic would be about equally distant, and no index could order them.
DIRECTIONS = 24

Vectors = NDArray[np.float32]
ONSETS = [*"bcdfghjklmnprstvwz", "br", "ch", "dr", "gl", "pr", "sh", "st", "tr"]
VOWELS = [*"aeiou", "ai", "ea", "oo", "ou"]
CODAS = ["", "", "", "l", "n", "r", "s", "t"]
HANZI = (
    "一人大小天地山水火木土金日月星云风雨花草树林果米面茶酒鱼鸟马牛羊门窗桌纸笔书信车船路桥城乡"
    "东西南北春夏秋冬早晚年岁时分快慢高低长短新旧红黄蓝绿黑白声音光影心手足目耳口头身衣食住行走"
    "听看读写问答学教工农商医兵友客主家国民市场店楼房屋室厅院园田河湖海江岸沙石铁钢铜银玉"
)
VOCABULARY = 20_000
EXPONENT = 1.05  # of the frequency of the word with a rank: about that of spoken language
SHORTEST, MEDIAN, SPREAD, LONGEST = 4, 18, 0.6, 120  # words of a text: log-normal
Status, Visibility = MemoryEntry.Status, MemoryEntry.Visibility
CHINESE_SHARE = 0.3  # of all texts
RUN_LENGTH = 20
IN_RUNS = 0.6  # of all entries
ACCOUNT_WIDE = 0.15  # of those outside of runs
SPEAKERS = ("Ann", "Bob")  # of runs, in turns
MAX_AGE = 500_000  # minutes since the oldest entry was observed
KINDS = ("fact", "preference", "event", "project_state", "summary", "procedure")
STATUSES = ("active", "proposed", "forgotten")
STATUS_SHARES = (0.96, 0.02, 0.02)


class Cloud:
    """Generator of vectors, and of queries similar to some of them."""

    def __init__(self, dimensions: int, rng: np.random.Generator) -> None:
        self.rng = rng
        shape = np.random.default_rng(11)  # the same cloud in every run
        self._common = _unit(shape.standard_normal(dimensions))
        self._topics = _unit(shape.standard_normal((TOPICS, dimensions)))
        self._directions = _unit(shape.standard_normal((DIRECTIONS, dimensions)))

    def draw(self, number: int) -> Vectors:
        topics = self._topics[self.rng.integers(0, TOPICS, number)]
        own = _unit(self.rng.standard_normal((number, DIRECTIONS)) @ self._directions)
        mixed = COMMON**0.5 * self._common + TOPIC**0.5 * topics + OWN**0.5 * own
        return _unit(mixed)


def _unit(vectors: "NDArray[np.float64] | Vectors") -> Vectors:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / lengths, dtype=np.float32)


class SyntheticVocabulary(NamedTuple):
    """Words by rank, with the cumulative frequency of each rank."""

    english: "NDArray[np.str_]"
    chinese: "NDArray[np.str_]"
    frequencies: "NDArray[np.float64]"


@cache
def vocabulary() -> SyntheticVocabulary:
    """Return the vocabulary, which is the same in every run."""
    shape = Random(7)  # noqa: S311 - invented words, no secrets
    english = np.array([_english_word(shape) for _ in range(VOCABULARY)])
    chinese = np.array(["".join(shape.sample(HANZI, 2)) for _ in range(VOCABULARY)])
    weights = 1.0 / np.arange(10, VOCABULARY + 10) ** EXPONENT
    return SyntheticVocabulary(english, chinese, np.cumsum(weights / weights.sum()))


@dataclass
class Writer:
    """Generator of texts: mostly English, some Chinese."""

    rng: np.random.Generator

    def texts(self, number: int) -> list[str]:
        drawn = self.rng.lognormal(np.log(MEDIAN), SPREAD, number)
        lengths = np.clip(drawn, SHORTEST, LONGEST).astype(int)
        ranks = np.searchsorted(vocabulary().frequencies, self.rng.random(int(lengths.sum())))
        ranks = np.minimum(ranks, VOCABULARY - 1)
        chinese = self.rng.random(number) < CHINESE_SHARE
        ends = np.cumsum(lengths)
        return [
            self._text(ranks[end - length : end], chinese=bool(is_chinese))
            for end, length, is_chinese in zip(ends, lengths, chinese, strict=True)
        ]

    def queries(self, number: int, *, chinese: bool) -> list[str]:
        """Return questions of about five words, most of them rare."""
        ranks = self.rng.integers(20, VOCABULARY // 10, (number, 5))
        return [self._text(each, chinese=chinese) for each in ranks]

    def add_dates(self, queries: Sequence[str]) -> list[str]:
        """Return the queries, every third of the English ones with a speaker and a year.

        The year is that of most entries, so that its term occurs in most of them.
        """
        year = (timezone.now() - timedelta(minutes=MAX_AGE // 2)).year
        return [
            f"{SPEAKERS[place % 2]}, {year}: {query}"
            if query.isascii() and place % 3 == 0
            else query
            for place, query in enumerate(queries)
        ]

    def _text(self, ranks: "NDArray[np.int64]", *, chinese: bool) -> str:
        if chinese:
            return "".join(vocabulary().chinese[ranks]) + "。"
        return (" ".join(vocabulary().english[ranks]) + ".").capitalize()


def _english_word(shape: Random) -> str:
    return "".join(
        shape.choice(part) for _ in range(shape.randint(1, 3)) for part in (ONSETS, VOWELS, CODAS)
    )


class Population:
    """Generator of the entries of one account: few users have many, most have few."""

    def __init__(self, account_id: UUID, users: int, rng: np.random.Generator) -> None:
        self.account_id, self.users, self.rng = account_id, users, rng
        self.writer, self.runs = Writer(rng), count()

    def entries(self, number: int, commit_id: UUID) -> list[MemoryEntry]:
        """Return the entries of one commit; those of a run are consecutive and in order."""
        texts = iter(self.writer.texts(number))
        new_entries: list[MemoryEntry] = []
        while len(new_entries) < number:
            size = min(RUN_LENGTH, number - len(new_entries))
            for values in self._run(size) if self.rng.random() < IN_RUNS else self._facts(size):
                position = len(new_entries)
                new_entries.append(self._entry(next(texts), position, commit_id, values))
        return new_entries

    def user(self) -> str:
        return f"user-{min(int(self.rng.zipf(1.5)), self.users):04}"

    def _run(self, size: int) -> Iterator[dict[str, Any]]:
        user, run = self.user(), f"run-{next(self.runs):06}"
        began = self._some_time()
        for turn in range(size):
            yield {
                "user_id": user,
                "run_id": run,
                "visibility": Visibility.USER,
                "kind": "event",
                "status": Status.ACTIVE,
                "slots": {"speaker": SPEAKERS[turn % 2]},
                "observed_at": began + timedelta(minutes=turn),
            }

    def _facts(self, size: int) -> Iterator[dict[str, Any]]:
        for _ in range(size):
            everyone = self.rng.random() < ACCOUNT_WIDE
            yield {
                "user_id": "" if everyone else self.user(),
                "visibility": Visibility.ACCOUNT if everyone else Visibility.USER,
                "kind": str(self.rng.choice(KINDS)),
                "status": str(self.rng.choice(STATUSES, p=STATUS_SHARES)),
                "observed_at": self._some_time(),
            }

    def _some_time(self) -> Any:
        return timezone.now() - timedelta(minutes=int(self.rng.integers(0, MAX_AGE)))

    def _entry(
        self, text: str, position: int, commit_id: UUID, values: dict[str, Any]
    ) -> MemoryEntry:
        now = timezone.now()
        return MemoryEntry(
            id=uuid7(),
            account_id=self.account_id,
            commit_id=commit_id,
            written_in=commit_id,
            content=text,
            position=position,
            agent_id=f"agent-{position % 5}",
            created_by="system",
            created_at=now,
            updated_at=now,
            **values,
        )
