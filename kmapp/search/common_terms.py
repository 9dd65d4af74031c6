"""Terms of a long query that are too common to be searched. Inside `acting`."""

from collections.abc import Sequence

from kmapp.database.raw_sql import fetch_all
from kmapp.search.allowed_objects import Collection
from kmapp.search.posting_scores import POSTING

MAX_SEARCHED_TERMS = 256  # distinct terms of a query whose packed postings are read

# PostgreSQL stores the size of a value apart, so this reads no postings.
_SIZES_SQL = """
SELECT term, sum(octet_length(postings)) FROM search_packedpostings
 WHERE account_id = %s AND collection = %s AND term = ANY (%s::text[]) GROUP BY term
"""


def count_common_terms(collection: Collection, terms: Sequence[str]) -> dict[str, int]:
    """Return the terms that are not searched, with the number of packed documents of each.

    These are the most common of the distinct terms, if more than MAX_SEARCHED_TERMS occur in packed
    documents: they weigh least, and have most of the postings.
    """
    if len(terms) <= MAX_SEARCHED_TERMS:
        return {}
    sizes = fetch_all(_SIZES_SQL, [collection.account_id, collection.name, list(terms)])
    rarest_first = sorted(sizes, key=lambda row: (row[1], row[0]))
    return {term: size // POSTING.itemsize for term, size in rarest_first[MAX_SEARCHED_TERMS:]}
