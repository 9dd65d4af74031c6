"""Lexical search that reads a bounded number of postings. Inside `acting`.

For pages that search many collections at once: of a common word, only the newest documents count
(most ids begin with their time). A rare word is read completely.
"""

from collections.abc import Sequence
from typing import Any

from django.db import connection

from kmapp.database.ids import IdText
from kmapp.search.queries import (
    SCORE_SQL,
    AllowedObjects,
    Collection,
    build_bm25_parameters,
    load_weighted_terms,
)

MAX_POSTINGS = 2_000  # postings of each term
MIN_PREFIX_LENGTH = 3  # characters

_POSTINGS_SQL = (
    "SELECT document, tf, dl FROM search_termposting "
    "WHERE account_id = %s AND collection = %s AND term = {term} ORDER BY document DESC LIMIT %s"
)
_COMPLETE_SQL = """
WITH RECURSIVE matches (term) AS (
  (SELECT term FROM search_termposting
    WHERE account_id = %(account)s AND collection = %(collection)s AND term >= %(prefix)s
    ORDER BY term LIMIT 1)
  UNION ALL
  (SELECT (SELECT p.term FROM search_termposting p
            WHERE p.account_id = %(account)s AND p.collection = %(collection)s AND p.term > f.term
            ORDER BY p.term LIMIT 1)
     FROM matches f WHERE starts_with(f.term, %(prefix)s))
)
SELECT term FROM matches WHERE starts_with(term, %(prefix)s) LIMIT %(limit)s
"""


def find_with_any_term(
    collection: Collection, terms: Sequence[str], *, within: AllowedObjects, limit: int
) -> list[IdText]:
    """Return the documents with the highest BM25 scores over the postings that are read."""
    words = load_weighted_terms(collection, terms)
    if not words.idf:
        return []
    average, names, weights, account_id, name = build_bm25_parameters(collection, words)
    postings = _POSTINGS_SQL.format(term="q.term")
    return _fetch_column(
        f"SELECT s.document::text FROM (SELECT p.document, {SCORE_SQL} AS score "  # noqa: S608 - constants and a compiled queryset
        f"FROM unnest(%s::text[], %s::float8[]) AS q (term, idf), LATERAL ({postings}) p "
        "GROUP BY p.document ORDER BY score DESC, p.document DESC) s "
        f"WHERE s.document IN ({within.sql}) ORDER BY s.score DESC, s.document DESC LIMIT %s",
        [average, names, weights, account_id, name, MAX_POSTINGS, *within.parameters, limit],
    )


def find_with_all_terms(
    collection: Collection, terms: Sequence[str], *, within: AllowedObjects, limit: int
) -> list[IdText]:
    """Return documents with all terms, newest first. The rarest term selects the candidates."""
    words = load_weighted_terms(collection, terms)
    if set(terms) - words.idf.keys():
        return []
    rarest = next(iter(words.idf))
    key = [collection.account_id, collection.name]
    postings = _POSTINGS_SQL.format(term="%s")
    return _fetch_column(
        f"SELECT s.document::text FROM ({postings}) s "  # noqa: S608 - as above
        "WHERE (SELECT count(*) FROM search_termposting p WHERE p.account_id = %s "
        "AND p.collection = %s AND p.term = ANY (%s) AND p.document = s.document) = %s "
        f"AND s.document IN ({within.sql}) ORDER BY s.document DESC LIMIT %s",
        [*key, rarest, MAX_POSTINGS, *key, list(terms), len(terms), *within.parameters, limit],
    )


def complete_term(collection: Collection, prefix: str, *, limit: int = 5) -> list[str]:
    """Return the first terms that begin with `prefix`. Each is one probe of the index."""
    if len(prefix) < MIN_PREFIX_LENGTH:
        return []
    values = {"account": collection.account_id, "collection": collection.name}
    return _fetch_column(_COMPLETE_SQL, {**values, "prefix": prefix, "limit": limit})


def _fetch_column(statement: str, parameters: Any) -> list[str]:
    """Return the first column."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [row[0] for row in cursor.fetchall()]
