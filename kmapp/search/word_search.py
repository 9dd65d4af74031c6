"""Search by words: exact BM25 over packed postings and recent documents. Inside `acting`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nlargest, nsmallest
from uuid import UUID

import numpy as np

from kmapp.database.ids import IdText
from kmapp.database.psycopg_cursors import binary_cursor
from kmapp.database.raw_sql import fetch_all
from kmapp.search import bm25
from kmapp.search.allowed_documents import MAX_CHECKED, fetch_allowed
from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.common_terms import count_common_terms
from kmapp.search.id_array_lookup import IdArray
from kmapp.search.packed_array_reads import ArrayFormat, ArrayRead
from kmapp.search.packed_array_tables import POSTINGS
from kmapp.search.posting_scores import (
    POSTING,
    DocumentScores,
    Postings,
    build_mask,
    find_best,
    find_containing_all,
    match_documents,
    score_documents,
    unpack,
)
from kmapp.search.reader_group_search import can_use_reader_groups, load_reader_group_numbers
from kmapp.search.scan_method_choice import (
    compute_scan_limit,
    count_allowed,
    is_scan_faster,
    load_statistics,
)

CHECKED_PER_RESULT = (4, 64)  # documents checked against a filter for each result, per attempt
CHECKED_OF_GROUPS = (1.5, 4, 64)  # the same for documents of the viewer's reader groups
EXPECTED_PER_RESULT = 2  # allowed documents for each result among those that are checked
MIN_PREFIX_LENGTH = 3  # characters
POSTING_ARRAYS = ArrayFormat(POSTINGS, POSTING.itemsize, lambda packed: unpack(packed).columns)

# In one statement, so that a document is either recent or packed.
_POSTINGS_SQL = """
SELECT name, directory, content, is_committed, NULL::text, NULL::int, NULL::json
  FROM ({packed}) packed
UNION ALL
SELECT NULL, NULL, NULL, NULL, d.document::text, d.length, (
    SELECT json_object_agg(q.term, d.terms->q.term) FROM unnest(%s::text[]) AS q (term)
     WHERE d.terms ? q.term)
  FROM search_indexeddocument d
 WHERE d.account_id = %s AND d.collection = %s AND d.number IS NULL AND d.terms ?| %s::text[]
"""
# Each step is one probe of the index.
_COMPLETE_SQL = """
WITH RECURSIVE packed (term) AS (
  (SELECT term FROM search_packedpostings
    WHERE account_id = %(account)s AND collection = %(collection)s AND term >= %(prefix)s
    ORDER BY term LIMIT 1)
  UNION ALL
  (SELECT (SELECT p.term FROM search_packedpostings p
            WHERE p.account_id = %(account)s AND p.collection = %(collection)s AND p.term > f.term
            ORDER BY p.term LIMIT 1)
     FROM packed f WHERE starts_with(f.term, %(prefix)s))
), recent (term) AS (
  SELECT DISTINCT k.term FROM search_indexeddocument d, jsonb_object_keys(d.terms) AS k (term)
   WHERE d.account_id = %(account)s AND d.collection = %(collection)s AND d.number IS NULL
     AND starts_with(k.term, %(prefix)s)
)
SELECT term FROM (
  (SELECT term FROM packed WHERE starts_with(term, %(prefix)s) LIMIT %(limit)s)
  UNION SELECT term FROM recent) matches ORDER BY term LIMIT %(limit)s
"""


@dataclass(slots=True)
class RecentDocument:
    """A document that is not packed, with the frequencies of the query's terms."""

    length: int
    frequencies: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedTerms:
    """A query's terms, each with its idf in this collection, and where they occur."""

    idf: Mapping[str, float]  # rarest first
    average_length: float
    packed: Mapping[str, Postings] = field(default_factory=dict, repr=False, compare=False)
    recent: Mapping[IdText, RecentDocument] = field(default_factory=dict, repr=False)
    common_idf: Mapping[str, float] = field(default_factory=dict)  # of terms that are not searched


def load_weighted_terms(collection: Collection, terms: Sequence[str]) -> WeightedTerms:
    """Return the weight of each distinct query term. Unknown terms weigh most but match nothing."""
    documents, average_length = load_statistics(collection)
    distinct = list(dict.fromkeys(terms))
    common = count_common_terms(collection, distinct)
    packed, recent = _load_postings(collection, [each for each in distinct if each not in common])
    counts = {term: len(packed.get(term, ())) for term in distinct} | common
    for each in recent.values():
        for term in each.frequencies:
            counts[term] += 1
    idf = {
        term: bm25.idf(max(documents, count), count)
        for term, count in bm25.drop_unknown_terms(counts).items()
    }
    rarest_first = sorted(idf.items(), key=lambda each: -each[1])
    return WeightedTerms(
        idf={term: weight for term, weight in rarest_first if term not in common},
        average_length=average_length,
        packed=packed,
        recent=recent,
        common_idf={term: weight for term, weight in rarest_first if term in common},
    )


def _load_postings(
    collection: Collection, terms: list[str]
) -> tuple[dict[str, Postings], dict[IdText, RecentDocument]]:
    key = (collection.account_id, collection.name)
    read = ArrayRead(POSTING_ARRAYS, key, terms)
    with binary_cursor(prepares=True) as cursor:
        statement = _POSTINGS_SQL.format(packed=read.sql)
        cursor.execute(statement, [*read.parameters, terms, *key, terms])
        rows = cursor.fetchall()
    arrays = read.finish(row[:4] for row in rows if row[4] is None)
    packed = {term: Postings(*columns) for term, columns in arrays.items()}
    recent = {
        document: RecentDocument(length, frequencies)
        for *_, document, length, frequencies in rows
        if document is not None
    }
    return packed, recent


def find_best_by_words(
    collection: Collection, words: WeightedTerms, *, within: AllowedObjects, limit: int
) -> dict[IdText, float]:
    """Return the documents with the highest BM25 scores, best first.

    All documents with one of the words are scored, or those of the viewer's reader groups. The best
    are checked against `within`, and more of them if too few pass.
    """
    average = max(words.average_length, 1.0)
    recent = {
        document: score
        for document, each in words.recent.items()
        if (score := bm25.score(words.idf, each.frequencies, each.length, average))
    }
    among = None
    if has_reader_groups := can_use_reader_groups(collection, within):
        among = build_mask(load_reader_group_numbers(collection, within))
        within = replace(within, as_list=None)  # documents are checked by number, not listed
    scores = score_documents(words.packed, words.idf, average, among)
    if not recent and not len(scores):
        return {}
    checks = [int(each * limit) for each in CHECKED_OF_GROUPS]
    for checked in checks if has_reader_groups else _plan_checks(collection, within, limit):
        if checked < len(scores):
            first = find_best(scores, checked)
            allowed = fetch_allowed(collection, within, recent.keys(), first.numbers)
            best = _rank(allowed, first, recent, limit)
            # Documents that are not checked have lower scores.
            if len(best) == limit and min(best.values()) >= first.scores.min():
                return best
    is_list_faster = len(scores) > MAX_CHECKED and is_scan_faster(collection, within)
    numbers = None if is_list_faster else scores.numbers
    allowed = fetch_allowed(collection, within, recent.keys(), numbers)
    return _rank(allowed, scores, recent, limit)


def _plan_checks(collection: Collection, within: AllowedObjects, limit: int) -> list[int]:
    """Return how many of the best documents to check in turn, before all are checked.

    If few documents are allowed, all of them are fetched instead of checking more of the others.
    """
    documents, _ = load_statistics(collection)
    scan_limit = compute_scan_limit(collection)
    if within.is_scanned or documents <= scan_limit:
        return []
    count = count_allowed(collection, within)
    if count > scan_limit:
        return [factor * limit for factor in CHECKED_PER_RESULT]
    checked = EXPECTED_PER_RESULT * limit * documents // max(count, 1)
    return [checked] if checked < count else []


def _rank(
    allowed: Sequence[tuple[IdText, int | None]],
    scores: DocumentScores,
    recent: Mapping[IdText, float],
    limit: int,
) -> dict[IdText, float]:
    """Return the best of these documents; those with equal scores in the order of their ids."""
    packed = scores.look_up([-1 if number is None else number for _, number in allowed])
    ranked = []
    for (document, _), packed_score in zip(allowed, packed, strict=True):
        if score := recent.get(document) or packed_score:
            ranked.append((-score, document))
    return {document: -score for score, document in nsmallest(limit, ranked)}


def score_by_words(
    words: WeightedTerms, documents: Iterable[IdText], numbers: Mapping[IdText, int]
) -> tuple[dict[IdText, float], dict[IdText, int]]:
    """Return the BM25 scores and the term masks of documents with one of the words.

    `numbers` has those of the packed documents. A mask has a bit for each of the first words.
    """
    average = max(words.average_length, 1.0)
    packed = {each: numbers[each] for each in numbers.keys() - words.recent.keys()}
    packed_scores, packed_masks = match_documents(
        words.packed, words.idf, average, list(packed.values())
    )
    scores = dict(zip(packed, packed_scores, strict=True))
    masks = dict(zip(packed, packed_masks, strict=True))
    for each in words.recent.keys() & set(documents):
        recent = words.recent[each]
        scores[each] = bm25.score(words.idf, recent.frequencies, recent.length, average)
        masks[each] = bm25.build_term_mask(words.idf, recent.frequencies)
    return (
        {each: score for each, score in scores.items() if score},
        {each: mask for each, mask in masks.items() if mask},
    )


def find_with_all_terms(
    collection: Collection, terms: Sequence[str], *, within: AllowedObjects, limit: int
) -> list[IdText]:
    """Return documents with all terms, newest first.

    Of many packed documents, only the MAX_CHECKED with the highest numbers are checked against
    `within`. The newest have the largest ids, because most ids begin with their time.
    """
    required = list(dict.fromkeys(terms))
    if not required:
        return []
    packed, recent = _load_postings(collection, required)
    numbers = np.zeros(0, dtype=np.int64)
    if packed.keys() >= set(required):
        numbers = find_containing_all(packed.values())[-MAX_CHECKED:]
    documents = [pk for pk, each in recent.items() if len(each.frequencies) == len(required)]
    allowed = fetch_allowed(collection, within, documents, numbers)
    return nlargest(limit, (document for document, _ in allowed))


def count_terms(
    collection: Collection, terms: Iterable[str], documents: Iterable[UUID]
) -> dict[UUID, int]:
    """Return how many of these terms each of these documents contains."""
    rows = fetch_all(
        "SELECT d.document, count(*) FROM search_indexeddocument d "
        "JOIN unnest(%s::text[]) AS q (term) ON d.terms ? q.term WHERE d.account_id = %s "
        "AND d.collection = %s AND d.document = ANY (%s::uuid[]) GROUP BY d.document",
        [list(terms), collection.account_id, collection.name, IdArray(documents).array],
    )
    return dict(rows)


def complete_term(collection: Collection, prefix: str, *, limit: int = 5) -> list[str]:
    """Return the first terms that begin with `prefix`."""
    if len(prefix) < MIN_PREFIX_LENGTH:
        return []
    values = {"account": collection.account_id, "collection": collection.name}
    rows = fetch_all(_COMPLETE_SQL, {**values, "prefix": prefix, "limit": limit})
    return [row[0] for row in rows]
