"""Lexical search that reads a bounded number of postings. Inside `acting`.

For pages that search many collections at once: of a common word, only the newest documents count
(most ids begin with their time). A rare word is read completely.
"""

from collections.abc import Sequence
from typing import Any

from django.db import connection

from kmapp.database.ids import IdText
from kmapp.search.queries import SCORE, Collection, Within, bm25_parameters, weigh

BOUND = 2_000  # postings of each term
SHORTEST_PREFIX = 3  # characters

_POSTINGS = (
    "SELECT document, tf, dl FROM search_termposting "
    "WHERE account_id = %s AND collection = %s AND term = {term} ORDER BY document DESC LIMIT %s"
)
_COMPLETE = """
WITH RECURSIVE found (term) AS (
  (SELECT term FROM search_termposting
    WHERE account_id = %(account)s AND collection = %(collection)s AND term >= %(prefix)s
    ORDER BY term LIMIT 1)
  UNION ALL
  (SELECT (SELECT p.term FROM search_termposting p
            WHERE p.account_id = %(account)s AND p.collection = %(collection)s AND p.term > f.term
            ORDER BY p.term LIMIT 1)
     FROM found f WHERE starts_with(f.term, %(prefix)s))
)
SELECT term FROM found WHERE starts_with(term, %(prefix)s) LIMIT %(limit)s
"""


def find_with_any(
    collection: Collection, terms: Sequence[str], *, within: Within, limit: int
) -> list[IdText]:
    """Return the documents with the highest BM25 scores over the postings that are read."""
    words = weigh(collection, terms)
    if not words.idf:
        return []
    average, names, weights, account_id, name = bm25_parameters(collection, words)
    postings = _POSTINGS.format(term="q.term")
    return _fetch(
        f"SELECT s.document::text FROM (SELECT p.document, {SCORE} AS score "  # noqa: S608 - constants and a compiled queryset
        f"FROM unnest(%s::text[], %s::float8[]) AS q (term, idf), LATERAL ({postings}) p "
        "GROUP BY p.document ORDER BY score DESC, p.document DESC) s "
        f"WHERE s.document IN ({within.sql}) ORDER BY s.score DESC, s.document DESC LIMIT %s",
        [average, names, weights, account_id, name, BOUND, *within.parameters, limit],
    )


def find_with_all(
    collection: Collection, terms: Sequence[str], *, within: Within, limit: int
) -> list[IdText]:
    """Return documents with all terms, newest first. The rarest term selects the candidates."""
    words = weigh(collection, terms)
    if set(terms) - words.idf.keys():
        return []
    rarest = next(iter(words.idf))
    key = [collection.account_id, collection.name]
    postings = _POSTINGS.format(term="%s")
    return _fetch(
        f"SELECT s.document::text FROM ({postings}) s "  # noqa: S608 - as above
        "WHERE (SELECT count(*) FROM search_termposting p WHERE p.account_id = %s "
        "AND p.collection = %s AND p.term = ANY (%s) AND p.document = s.document) = %s "
        f"AND s.document IN ({within.sql}) ORDER BY s.document DESC LIMIT %s",
        [*key, rarest, BOUND, *key, list(terms), len(terms), *within.parameters, limit],
    )


def complete_term(collection: Collection, prefix: str, *, limit: int = 5) -> list[str]:
    """Return the first terms that begin with `prefix`. Each is one probe of the index."""
    if len(prefix) < SHORTEST_PREFIX:
        return []
    values = {"account": collection.account_id, "collection": collection.name}
    return _fetch(_COMPLETE, {**values, "prefix": prefix, "limit": limit})


def _fetch(statement: str, parameters: Any) -> list[str]:
    """Return the first column."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [row[0] for row in cursor.fetchall()]
