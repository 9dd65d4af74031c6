"""Retrieval for labelled questions by the functions of the product, without a database.

A file holds collections of items (id, run, text, observed_at, and optionally speaker and title) and
queries (text, and the ids of the items that answer it). The vectors are computed as in the product,
and cached in a file, because computing them takes minutes.
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
from kmapp.providers.embedding_model_lifecycle import TEMPLATE
from kmapp.search import bm25
from kmapp.search.candidate_signals import MAX_FEATURE_CHARACTERS, Candidate, Query
from kmapp.search.passage_templates import (
    Passage,
    Template,
    build_indexed_text,
    render_parts,
    render_with_predecessor,
)
from kmapp.text.terms import extract_terms
from memory.retrieval.candidates import MAX_PER_LIST, QUESTION_MARKS, SEEDS_PER_LIST

Floats = NDArray[np.float32]
Embed = Callable[[Sequence[str], str], Sequence[Sequence[float]]]
BATCH = 32
PASSAGE = Template(TEMPLATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedQuestion:
    """A question with its candidates and the relevant ones among them."""

    group: str  # examples held out together
    query: Query
    candidates: Sequence[Candidate]
    gold: frozenset[IdText]
    gold_count: int  # all relevant items, also those that are not candidates


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of texts, cached in a file."""

    file: Path
    embed: Embed

    def load(self, texts: Sequence[str], kind: str) -> Floats:
        with sqlite3.connect(self.file) as database:
            database.execute("CREATE TABLE IF NOT EXISTS v (k text PRIMARY KEY, e blob)")
            keys = [hashlib.sha256(f"{kind}\0{text}".encode()).hexdigest() for text in texts]
            missing = {
                key: text
                for key, text in zip(keys, texts, strict=True)
                if not database.execute("SELECT 1 FROM v WHERE k = ?", [key]).fetchone()
            }
            shortest_first = sorted(missing.items(), key=lambda each: len(each[1]))
            for start in range(0, len(shortest_first), BATCH):
                batch = shortest_first[start : start + BATCH]
                embedded = self.embed([text for _, text in batch], kind)
                rows = [
                    (key, np.asarray(vector, np.float32).tobytes())
                    for (key, _), vector in zip(batch, embedded, strict=True)
                ]
                database.executemany("INSERT INTO v VALUES (?, ?)", rows)
                database.commit()
            blobs = [
                database.execute("SELECT e FROM v WHERE k = ?", [k]).fetchone()[0] for k in keys
            ]
        results = np.stack([np.frombuffer(blob, np.float32) for blob in blobs])
        # In half precision, as the index stores them.
        halves = results.astype(np.float16).astype(np.float32)
        return np.asarray(halves / np.linalg.norm(halves, axis=1, keepdims=True))


class Words:
    """BM25 over all texts of one file, as over the memories of one account."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.frequencies = [Counter(extract_terms(text)) for text in texts]
        self.average = sum(each.total() for each in self.frequencies) / max(
            1, len(self.frequencies)
        )
        self.document_frequencies: Counter[str] = Counter()
        for each in self.frequencies:
            self.document_frequencies.update(each.keys())

    def idf(self, query: str) -> dict[str, float]:
        number = len(self.frequencies)
        term_weights = {
            term: bm25.idf(number, self.document_frequencies[term])
            for term in dict.fromkeys(extract_terms(query))
        }
        return dict(sorted(term_weights.items(), key=lambda each: -each[1]))

    def score(self, idf: dict[str, float], place: int) -> float:
        frequencies = self.frequencies[place]
        if not idf.keys() & frequencies.keys():
            return 0.0
        return bm25.score(idf, frequencies, frequencies.total(), self.average)


def load_collections(file: Path) -> list[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as opened:
        collections: list[dict[str, Any]] = json.load(opened)["collections"]
    return collections


def load_questions(file: Path, vectors: Vectors) -> list[EvaluatedQuestion]:
    """Return the questions of a file with the candidates that the product would rank."""
    return evaluate_questions(load_collections(file), vectors)


def load_sample(
    file: Path, vectors: Vectors, number: int
) -> tuple[dict[str, list[dict[str, Any]]], list[EvaluatedQuestion]]:
    """Return the items of each collection, and `number` questions distributed over the file."""
    collections = load_collections(file)
    evaluated = evaluate_questions(collections, vectors)
    items = {str(each["id"]): each["items"] for each in collections}
    return items, evaluated[:: max(1, len(evaluated) // number)]


def evaluate_questions(
    collections: Sequence[dict[str, Any]], vectors: Vectors
) -> list[EvaluatedQuestion]:
    all_items = [item for each in collections for item in each["items"]]
    words = Words([build_indexed_text(_passage(item)) for item in all_items])
    evaluated, start = [], 0
    for each in collections:
        evaluated += list(_Collection(each, vectors, words, start).evaluate())
        start += len(each["items"])
    return evaluated


def remove_context(question: EvaluatedQuestion) -> EvaluatedQuestion:
    """Return the question with every text as an entry of its own, without runs."""
    return replace(
        question,
        candidates=[
            each._replace(run="", neighbours=(), context=None) for each in question.candidates
        ],
    )


def _passage(item: dict[str, Any]) -> Passage:
    return Passage(
        text=item["text"],
        date=datetime.fromisoformat(item["observed_at"]),
        speaker=item.get("speaker", ""),
        title=item.get("title", ""),
    )


class _Collection:
    """The memories of one user, and the questions about them."""

    def __init__(
        self, collection_data: dict[str, Any], vectors: Vectors, words: Words, start: int
    ) -> None:
        self.collection_data, self.words, self.start = collection_data, words, start
        self.items = collection_data["items"]
        self.neighbour_numbers = _neighbour_numbers(self.items)
        passages = [_passage(item) for item in self.items]
        parts = [(n, text) for n, p in enumerate(passages) for text in render_parts(PASSAGE, p)]
        self.part_owners = np.array([n for n, _ in parts])
        self.part_vectors = vectors.load([text for _, text in parts], "passage")
        before = [
            render_with_predecessor(PASSAGE, p, self.items[prior]["text"])
            if prior is not None
            else render_parts(PASSAGE, p)[0]
            for p, (prior, _) in zip(passages, self.neighbour_numbers, strict=True)
        ]
        self.context_vectors = vectors.load(before, "passage")
        self.query_vectors = vectors.load(
            [query["text"] for query in collection_data["queries"]], "query"
        )
        self.places = {item["id"]: n for n, item in enumerate(self.items)}

    def evaluate(self) -> Iterator[EvaluatedQuestion]:
        for number, query in enumerate(self.collection_data["queries"]):
            idf = self.words.idf(query["text"])
            cosine = np.full(len(self.items), -1.0, np.float32)
            np.maximum.at(cosine, self.part_owners, self.part_vectors @ self.query_vectors[number])
            context = self.context_vectors @ self.query_vectors[number]
            score = [self.words.score(idf, self.start + n) for n in range(len(self.items))]
            gold = set(query["gold"])
            yield EvaluatedQuestion(
                group=str(self.collection_data["id"]),
                query=Query(text=query["text"], idf=idf),
                candidates=[
                    self._candidate(n, idf, score[n], cosine, context)
                    for n in self._candidate_numbers(cosine, score)
                ],
                gold=frozenset(_key(self.places[g]) for g in gold if g in self.places),
                gold_count=len(gold),
            )

    def _candidate_numbers(self, cosine: Floats, score: Sequence[float]) -> list[int]:
        nearest_numbers = [int(n) for n in np.argsort(-cosine, kind="stable")[:MAX_PER_LIST]]
        ranked = sorted((n for n in range(len(score)) if score[n]), key=lambda n: -score[n])
        best_by_words = ranked[:MAX_PER_LIST]
        surrounding = [
            n
            for seed in (*nearest_numbers[:SEEDS_PER_LIST], *best_by_words[:SEEDS_PER_LIST])
            for n in self.neighbour_numbers[seed]
        ]
        return sorted(
            {*nearest_numbers, *best_by_words, *(n for n in surrounding if n is not None)}
        )

    def _candidate(
        self, n: int, idf: dict[str, float], score: float, cosine: Floats, context: Floats
    ) -> Candidate:
        text, frequencies = self.items[n]["text"], self.words.frequencies[self.start + n]
        before, _ = self.neighbour_numbers[n]
        return Candidate(
            id=_key(n),
            cosine=float(cosine[n]),
            context=float(context[n]) if before is not None else None,
            bm25=score,
            term_mask=bm25.build_term_mask(idf, frequencies),
            neighbours=[_key(other) for other in self.neighbour_numbers[n] if other is not None],
            run=self.items[n]["run"],
            text=text[:MAX_FEATURE_CHARACTERS],
            is_question=text.rstrip()[-1:] in QUESTION_MARKS,
        )


def _key(place: int) -> IdText:
    """Return an id that sorts by place."""
    return f"{place:06}"


def _neighbour_numbers(items: Sequence[dict[str, Any]]) -> list[tuple[int | None, int | None]]:
    """Return the previous and next item of each item in its run."""
    before: list[int | None] = [None] * len(items)
    after: list[int | None] = [None] * len(items)
    last: dict[str, int] = {}
    for n, item in enumerate(items):
        if (prior := last.get(item["run"])) is not None:
            before[n], after[prior] = prior, n
        last[item["run"]] = n
    return list(zip(before, after, strict=True))
