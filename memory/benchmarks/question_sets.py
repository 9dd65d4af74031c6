"""Labelled questions over texts, measured by the product's own functions without a database.

A file holds collections of items (id, run, text, observed_at) and queries (text, and the ids of
the items that answer it). The vectors are those that the product would make; they are kept in a
file, for making them takes minutes.
"""

import gzip
import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kmapp.database.ids import IdText
from kmapp.search import bm25
from kmapp.search.fusion import TERMS, Candidate, Query
from kmapp.search.passages import Passage, Template, in_context, renderings, words_of
from kmapp.text.terms import terms
from memory.retrieval.candidates import CANDIDATES, HEAD, QUESTION_MARKS, SEEDS

Floats = NDArray[np.float32]
Embed = Callable[[Sequence[str], str], Sequence[Sequence[float]]]
BATCH = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question with its candidates, and which of them answer it."""

    group: str  # what is held out together
    query: Query
    candidates: Sequence[Candidate]
    gold: frozenset[IdText]
    wanted: int  # answers there are, found or not


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of texts, made once and kept."""

    file: Path
    embed: Embed

    def of(self, texts: Sequence[str], kind: str) -> Floats:
        with sqlite3.connect(self.file) as kept:
            kept.execute("CREATE TABLE IF NOT EXISTS v (k text PRIMARY KEY, e blob)")
            keys = [hashlib.sha256(f"{kind}\0{text}".encode()).hexdigest() for text in texts]
            missing = {
                key: text
                for key, text in zip(keys, texts, strict=True)
                if not kept.execute("SELECT 1 FROM v WHERE k = ?", [key]).fetchone()
            }
            todo = sorted(missing.items(), key=lambda each: len(each[1]))
            for start in range(0, len(todo), BATCH):
                batch = todo[start : start + BATCH]
                made = self.embed([text for _, text in batch], kind)
                rows = [
                    (key, np.asarray(vector, np.float32).tobytes())
                    for (key, _), vector in zip(batch, made, strict=True)
                ]
                kept.executemany("INSERT INTO v VALUES (?, ?)", rows)
                kept.commit()
            blobs = [kept.execute("SELECT e FROM v WHERE k = ?", [k]).fetchone()[0] for k in keys]
        found = np.stack([np.frombuffer(blob, np.float32) for blob in blobs])
        # As the index keeps them: in half precision.
        halves = found.astype(np.float16).astype(np.float32)
        return np.asarray(halves / np.linalg.norm(halves, axis=1, keepdims=True))


class Words:
    """BM25 over all texts of one file, as one account would hold them."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.found = [Counter(terms(text)) for text in texts]
        self.average = sum(each.total() for each in self.found) / max(1, len(self.found))
        self.holding: Counter[str] = Counter()
        for each in self.found:
            self.holding.update(each.keys())

    def idf(self, query: str) -> dict[str, float]:
        number = len(self.found)
        known = {term: bm25.idf(number, self.holding[term]) for term in dict.fromkeys(terms(query))}
        return dict(sorted(known.items(), key=lambda each: -each[1]))

    def score(self, idf: dict[str, float], place: int) -> float:
        found = self.found[place]
        if not idf.keys() & found.keys():
            return 0.0
        return bm25.score(idf, found, found.total(), self.average)


def questions(file: Path, template: str, vectors: Vectors) -> list[Asked]:
    """Every question of a file with the candidates that the product would look at."""
    with gzip.open(file, "rt", encoding="utf-8") as opened:
        return asked_of(json.load(opened)["collections"], template, vectors)


def asked_of(collections: Sequence[dict[str, Any]], template: str, vectors: Vectors) -> list[Asked]:
    """The same, of what such a file holds."""
    whole = [item for each in collections for item in each["items"]]
    words = Words([words_of(_passage(item)) for item in whole])
    asked, start = [], 0
    for each in collections:
        asked += list(_Collection(each, Template(template), vectors, words, start).asked())
        start += len(each["items"])
    return asked


def alone(asked: Asked) -> Asked:
    """The same question, were every text an entry of its own: no runs, nothing before or after."""
    return replace(
        asked,
        candidates=[
            each._replace(run="", neighbours=(), context=None) for each in asked.candidates
        ],
    )


def _passage(item: dict[str, Any]) -> Passage:
    return Passage(text=item["text"], date=datetime.fromisoformat(item["observed_at"]))


class _Collection:
    """One user's memories and the questions about them."""

    def __init__(
        self, said: dict[str, Any], template: Template, vectors: Vectors, words: Words, start: int
    ) -> None:
        self.said, self.words, self.start = said, words, start
        self.items = said["items"]
        self.beside = _beside(self.items)
        passages = [_passage(item) for item in self.items]
        parts = [(n, text) for n, p in enumerate(passages) for text in renderings(template, p)]
        self.owner = np.array([n for n, _ in parts])
        self.own = vectors.of([text for _, text in parts], "passage")
        before = [
            in_context(template, p, self.items[prior]["text"])
            if prior is not None
            else renderings(template, p)[0]
            for p, (prior, _) in zip(passages, self.beside, strict=True)
        ]
        self.context = vectors.of(before, "passage")
        self.asking = vectors.of([query["text"] for query in said["queries"]], "query")
        self.places = {item["id"]: n for n, item in enumerate(self.items)}

    def asked(self) -> Iterator[Asked]:
        for number, query in enumerate(self.said["queries"]):
            idf = self.words.idf(query["text"])
            cosine = np.full(len(self.items), -1.0, np.float32)
            np.maximum.at(cosine, self.owner, self.own @ self.asking[number])
            context = self.context @ self.asking[number]
            score = [self.words.score(idf, self.start + n) for n in range(len(self.items))]
            wanted = set(query["gold"])
            yield Asked(
                group=str(self.said["id"]),
                query=Query(text=query["text"], idf=idf),
                candidates=[
                    self._candidate(n, idf, score[n], cosine, context)
                    for n in self._found(cosine, score)
                ],
                gold=frozenset(_key(self.places[g]) for g in wanted if g in self.places),
                wanted=len(wanted),
            )

    def _found(self, cosine: Floats, score: Sequence[float]) -> list[int]:
        near = [int(n) for n in np.argsort(-cosine, kind="stable")[:CANDIDATES]]
        ranked = sorted((n for n in range(len(score)) if score[n]), key=lambda n: -score[n])
        worded = ranked[:CANDIDATES]
        around = [n for seed in (*near[:SEEDS], *worded[:SEEDS]) for n in self.beside[seed]]
        return sorted({*near, *worded, *(n for n in around if n is not None)})

    def _candidate(
        self, n: int, idf: dict[str, float], score: float, cosine: Floats, context: Floats
    ) -> Candidate:
        text, held = self.items[n]["text"], self.words.found[self.start + n]
        before, _ = self.beside[n]
        return Candidate(
            id=_key(n),
            cosine=float(cosine[n]),
            context=float(context[n]) if before is not None else None,
            bm25=score,
            holds=sum(1 << bit for bit, term in enumerate(list(idf)[:TERMS]) if term in held),
            neighbours=[_key(other) for other in self.beside[n] if other is not None],
            run=self.items[n]["run"],
            head=text[:HEAD],
            size=len(text.encode()),
            asks=text.rstrip()[-1:] in QUESTION_MARKS,
        )


def _key(place: int) -> IdText:
    """In the order of their places."""
    return f"{place:06}"


def _beside(items: Sequence[dict[str, Any]]) -> list[tuple[int | None, int | None]]:
    """The item right before and right after each in its run."""
    before: list[int | None] = [None] * len(items)
    after: list[int | None] = [None] * len(items)
    last: dict[str, int] = {}
    for n, item in enumerate(items):
        if (prior := last.get(item["run"])) is not None:
            before[n], after[prior] = prior, n
        last[item["run"]] = n
    return list(zip(before, after, strict=True))
