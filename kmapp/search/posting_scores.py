"""Packed postings: the documents that contain a term, as an array. Pure.

PostgreSQL reads a row for each posting in half a microsecond and 150 bytes. An array takes 8 bytes
a posting and is scored a hundred times faster, so a search by words reads all postings of its terms
even in a large collection, and its scores are exact.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kmapp.search.bm25 import K1, MAX_MASK_TERMS, B

BLOCK = 8_192  # documents whose postings of one term are in one row
MAX_LENGTH = MAX_FREQUENCY = 2**16 - 1
POSTING = np.dtype([("number", "<u4"), ("length", "<u2"), ("frequency", "<u2")])
Numbers: TypeAlias = NDArray[np.int64]
PackedNumbers: TypeAlias = NDArray[np.uint32]
DocumentMask: TypeAlias = NDArray[np.bool_]  # whether a search covers a document, by its number
Scores: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """The documents that contain a term, ordered by number, with a column for each value."""

    numbers: PackedNumbers
    lengths: NDArray[np.uint16]
    frequencies: NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def columns(self) -> "tuple[PackedNumbers, NDArray[np.uint16], NDArray[np.uint16]]":
        return (self.numbers, self.lengths, self.frequencies)

    def select(self, places: NDArray[np.intp]) -> Self:
        return type(self)(
            self.numbers.take(places), self.lengths.take(places), self.frequencies.take(places)
        )


@dataclass(frozen=True, slots=True, eq=False)
class DocumentScores:
    """The scores of the documents that have one, ordered by number."""

    numbers: Numbers
    scores: Scores

    def __len__(self) -> int:
        return len(self.numbers)

    def look_up(self, numbers: Sequence[int]) -> list[float]:
        """Return the score of each of these documents, and 0 for those without."""
        documents = np.asarray(numbers, dtype=np.int64)
        scores = np.zeros(len(documents))
        matches, places = _find_places(self.numbers, documents)
        scores[matches] = self.scores[places]
        result: list[float] = scores.tolist()
        return result


def pack(postings: Iterable[tuple[int, int, int]]) -> bytes:
    """Return the postings, each the number of a document, its length and the term's frequency."""
    rows = [
        (number, min(length, MAX_LENGTH), min(frequency, MAX_FREQUENCY))
        for number, length, frequency in postings
    ]
    return np.array(rows, dtype=POSTING).tobytes()


def unpack(packed: bytes) -> Postings:
    items = np.frombuffer(packed, dtype=POSTING)
    return Postings(items["number"].copy(), items["length"].copy(), items["frequency"].copy())


def build_mask(numbers: Sequence[PackedNumbers]) -> DocumentMask:
    """Return the mask of these documents. Its last value is False, for all higher numbers."""
    mask = np.zeros(max((int(each.max()) + 2 for each in numbers if len(each)), default=1), bool)
    for each in numbers:
        mask[each] = True
    return mask


def score_documents(
    packed: Mapping[str, Postings],
    idf: Mapping[str, float],
    average_length: float,
    among: DocumentMask | None = None,
) -> DocumentScores:
    """Return the BM25 scores of all documents, or of those in a mask, without scores of 0.

    They are the same sums as `kmapp.search.bm25.score`.
    """
    postings = {term: _filter(packed[term], among) for term in idf if term in packed}
    size = max((int(each.numbers[-1]) + 1 for each in postings.values() if len(each)), default=0)
    scores = np.zeros(size)
    for term, each in postings.items():
        scores[each.numbers] += idf[term] * _weigh(each, average_length)
    numbers = np.flatnonzero(scores)
    return DocumentScores(numbers, scores[numbers])


def _filter(postings: Postings, among: DocumentMask | None) -> Postings:
    if among is None:
        return postings
    return postings.select(np.flatnonzero(among.take(postings.numbers, mode="clip")))


def match_documents(
    packed: Mapping[str, Postings],
    idf: Mapping[str, float],
    average_length: float,
    numbers: Sequence[int],
) -> tuple[list[float], list[int]]:
    """Return the BM25 score and the term mask of each of these documents."""
    documents = np.asarray(numbers, dtype=np.uint32)  # another type would convert all postings
    scores, masks = np.zeros(len(documents)), np.zeros(len(documents), dtype=np.int64)
    for bit, (term, rarity) in enumerate(idf.items()):
        if term not in packed:
            continue
        matches, places = _find_places(packed[term].numbers, documents)
        scores[matches] += rarity * _weigh(packed[term].select(places), average_length)
        if bit < MAX_MASK_TERMS:
            masks[matches] |= 1 << bit
    return scores.tolist(), masks.tolist()


def _find_places(
    ordered: NDArray[Any], documents: NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the indexes of the documents that are among ordered numbers, and where they are."""
    places = np.searchsorted(ordered, documents)
    inside = np.flatnonzero(places < len(ordered))
    matches = inside[ordered[places[inside]] == documents[inside]]
    return matches, places[matches]


def _weigh(postings: Postings, average_length: float) -> Scores:
    """Return the weight of the term in each document, as `kmapp.search.bm25.weight`."""
    frequency = postings.frequencies.astype(np.float64)
    slack = K1 * (1 - B + B * postings.lengths / average_length)
    return frequency * (K1 + 1) / (frequency + slack)


def find_best(scores: DocumentScores, limit: int) -> DocumentScores:
    """Return the documents with the highest scores; equal scores may exceed `limit`."""
    if len(scores) <= limit:
        return scores
    lowest = np.partition(scores.scores, -limit)[-limit]
    best = np.flatnonzero(scores.scores >= lowest)
    return DocumentScores(scores.numbers[best], scores.scores[best])


def find_containing_all(packed: Iterable[Postings]) -> Numbers:
    """Return the documents that all of these postings contain, in the order of their numbers."""
    sets = sorted((each.numbers for each in packed), key=len)
    common = sets[0]
    for each in sets[1:]:
        common = np.intersect1d(common, each, assume_unique=True)
    return common.astype(np.int64)
