"""Packed postings: the documents that contain a term, as an array. Pure.

PostgreSQL reads a row for each posting in half a microsecond and 150 bytes. An array takes 8 bytes
a posting and is scored a hundred times faster, so a search by words reads all postings of its terms
even in a large collection, and its scores are exact.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kmapp.search.bm25 import K1, MAX_MASK_TERMS, B

BLOCK = 8_192  # documents whose postings of one term are in one row
MAX_LENGTH = MAX_FREQUENCY = 2**16 - 1
POSTING = np.dtype([("number", "<u4"), ("length", "<u2"), ("frequency", "<u2")])
Postings: TypeAlias = NDArray[np.void]  # of POSTING, ordered by number
Numbers: TypeAlias = NDArray[np.int64]
Scores: TypeAlias = NDArray[np.float64]  # of each document, by its number


def pack(postings: Iterable[tuple[int, int, int]]) -> bytes:
    """Return the postings, each the number of a document, its length and the term's frequency."""
    rows = [
        (number, min(length, MAX_LENGTH), min(frequency, MAX_FREQUENCY))
        for number, length, frequency in postings
    ]
    return np.array(rows, dtype=POSTING).tobytes()


def unpack(packed: bytes) -> Postings:
    return np.frombuffer(packed, dtype=POSTING)


def score_documents(
    packed: Mapping[str, bytes], idf: Mapping[str, float], average_length: float
) -> Scores:
    """Return the BM25 scores of all documents; the same sums as `kmapp.search.bm25.score`."""
    arrays = {term: unpack(packed[term]) for term in idf if packed.get(term)}
    scores = np.zeros(max((int(each["number"][-1]) + 1 for each in arrays.values()), default=0))
    for term, postings in arrays.items():
        scores[postings["number"]] += idf[term] * _weigh(postings, average_length)
    return scores


def match_documents(
    packed: Mapping[str, bytes],
    idf: Mapping[str, float],
    average_length: float,
    numbers: Sequence[int],
) -> tuple[list[float], list[int]]:
    """Return the BM25 score and the term mask of each of these documents."""
    documents = np.asarray(numbers, dtype=np.int64)
    scores, masks = np.zeros(len(documents)), np.zeros(len(documents), dtype=np.int64)
    for bit, (term, rarity) in enumerate(idf.items()):
        if term not in packed:
            continue
        postings = unpack(packed[term])
        places = np.searchsorted(postings["number"], documents)
        inside = np.flatnonzero(places < len(postings))
        matches = inside[postings["number"][places[inside]] == documents[inside]]
        scores[matches] += rarity * _weigh(postings[places[matches]], average_length)
        if bit < MAX_MASK_TERMS:
            masks[matches] |= 1 << bit
    return scores.tolist(), masks.tolist()


def _weigh(postings: Postings, average_length: float) -> Scores:
    """Return the weight of the term in each document, as `kmapp.search.bm25.weight`."""
    frequency = postings["frequency"].astype(np.float64)
    slack = K1 * (1 - B + B * postings["length"] / average_length)
    return frequency * (K1 + 1) / (frequency + slack)


def keep_documents(scores: Scores, numbers: Numbers) -> Scores:
    """Return the scores of these documents, and 0 for all others."""
    remaining = np.zeros_like(scores)
    inside = numbers[numbers < len(scores)]
    remaining[inside] = scores[inside]
    return remaining


def find_best(scores: Scores, limit: int) -> Numbers:
    """Return the documents with the highest scores, in no order; equal scores may exceed `limit`.

    Documents without a score are left out.
    """
    scored = np.flatnonzero(scores)
    if len(scored) <= limit:
        return scored
    lowest = np.partition(scores[scored], -limit)[-limit]
    return np.flatnonzero(scores >= lowest)


def find_containing_all(packed: Iterable[bytes]) -> Numbers:
    """Return the documents that all of these postings contain, in the order of their numbers."""
    sets = sorted((unpack(each)["number"] for each in packed), key=len)
    common = sets[0]
    for each in sets[1:]:
        common = np.intersect1d(common, each, assume_unique=True)
    return common.astype(np.int64)
