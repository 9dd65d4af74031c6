"""Search for people: any status, by words and vectors, best first.

Agents get a few memories that are visible to them; reviewers page through all that match.
"""

from contextlib import suppress
from uuid import UUID

from django.db.models import Q

from kmapp.database.ids import IdText
from kmapp.providers.active import active_model
from kmapp.search import queries
from kmapp.search.fusion import fuse
from kmapp.search.queries import Collection, Meaning, Within
from kmapp.search.query_vector import scale_of
from kmapp.text.terms import terms
from memory.models import EntryQuerySet
from memory.models.entries import COLLECTION
from memory.retrieval.candidates import CANDIDATES, gather

MOST = 500
# Minimum closeness, on the scale of the model, of a memory without any of the words. There is
# always a nearest vector, so without a minimum the list would never end.
CLOSE = 0.3


def search_for_admin(
    account_id: UUID, text: str, rows: EntryQuerySet, meaning: Meaning | None
) -> list[UUID]:
    """Return the ids of the best matches, at most `MOST`. Inside `acting`."""
    if named := _named(text, rows):
        return named
    scale = scale_of(meaning.model if meaning else active_model())
    signals = gather(account_id, text, meaning, Within.of(rows))
    worded = {each.id for each in signals.candidates if each.bm25 > 0}
    close = {each.id for each in signals.candidates if scale.of(each.cosine or 0.0) >= CLOSE}
    ranked = [each.id for each in fuse(signals.query, signals.candidates, scale)]
    best = [each for each in ranked if each in worded | close]
    if len(worded) >= CANDIDATES:  # fusion gets at most this many
        best += _by_words(account_id, text, rows)
    return [UUID(each) for each in list(dict.fromkeys(best))[:MOST]]


def _named(text: str, rows: EntryQuerySet) -> list[UUID]:
    """Return the memory with this id or client id."""
    named = Q(client_id=text)
    with suppress(ValueError):
        named |= Q(pk=UUID(text))
    return list(rows.filter(named).order_by("pk").values_list("pk", flat=True)[:MOST])


def _by_words(account_id: UUID, text: str, rows: EntryQuerySet) -> list[IdText]:
    """Return all memories with one of the words, beyond the candidates of fusion."""
    collection = Collection(account_id=account_id, name=COLLECTION)
    words = queries.weigh(collection, terms(text))
    return list(queries.best_by_words(collection, words, within=Within.of(rows), limit=MOST))
