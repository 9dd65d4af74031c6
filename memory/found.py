"""Finding memories by words, for people: any status, best first."""

from uuid import UUID

from kmapp.search import queries
from kmapp.search.queries import Collection, Within
from kmapp.text import terms
from memory.models import EntryQuerySet
from memory.models.entries import COLLECTION

MOST = 500


def by_words(account_id: UUID, text: str, rows: EntryQuerySet) -> list[UUID]:
    """The ids of the rows that hold words of the text, best first. Inside `acting`."""
    collection = Collection(account_id=account_id, name=COLLECTION)
    words = queries.weigh(collection, terms(text))
    return list(queries.best_by_words(collection, words, within=Within.of(rows), limit=MOST))
