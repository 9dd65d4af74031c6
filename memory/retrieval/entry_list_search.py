"""Search for people: any status, by words and vectors, best first.

Agents get a few memories that are visible to them; reviewers page through all that match.
"""

from contextlib import suppress
from uuid import UUID

from django.db.models import Q

from kmapp.database.ids import IdText
from kmapp.providers.active_models import active_model
from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.candidate_ranking import rank_candidates
from kmapp.search.query_vector import QueryVector, build_cosine_scale
from kmapp.search.word_search import find_best_by_words, load_weighted_terms
from kmapp.text.terms import extract_terms
from memory.models import EntryQuerySet
from memory.models.entries import COLLECTION
from memory.retrieval.candidates import MAX_PER_LIST, collect_candidates

MAX_RESULTS = 500
# Minimum closeness, on the scale of the model, of a memory without any of the words. There is
# always a nearest vector, so without a minimum the list would never end.
MIN_CLOSENESS = 0.3


def search_for_admin(
    account_id: UUID, text: str, rows: EntryQuerySet, meaning: QueryVector | None
) -> list[UUID]:
    """Return the ids of the best matches, at most `MAX_RESULTS`. Inside `acting`."""
    if ids_by_name := _list_by_id(text, rows):
        return ids_by_name
    scale = build_cosine_scale(meaning.model if meaning else active_model())
    signals = collect_candidates(account_id, text, meaning, AllowedObjects.from_queryset(rows))
    with_words = {each.id for each in signals.candidates if each.bm25 > 0}
    matches = with_words | {
        each.id
        for each in signals.candidates
        if scale.normalize(each.cosine or 0.0) >= MIN_CLOSENESS
    }
    ranked = rank_candidates(signals.query, signals.candidates, scale)
    best = [each for each in ranked.ids if each in matches]
    if len(with_words) >= MAX_PER_LIST:  # fusion gets at most this many
        best += _list_by_words(account_id, text, rows)
    return [UUID(each) for each in list(dict.fromkeys(best))[:MAX_RESULTS]]


def _list_by_id(text: str, rows: EntryQuerySet) -> list[UUID]:
    """Return the memory with this id or client id."""
    has_id = Q(client_id=text)
    with suppress(ValueError):
        has_id |= Q(pk=UUID(text))
    return list(rows.filter(has_id).order_by("pk").values_list("pk", flat=True)[:MAX_RESULTS])


def _list_by_words(account_id: UUID, text: str, rows: EntryQuerySet) -> list[IdText]:
    """Return all memories with one of the words, beyond the candidates of fusion."""
    collection = Collection(account_id=account_id, name=COLLECTION)
    words = load_weighted_terms(collection, extract_terms(text))
    return list(
        find_best_by_words(
            collection, words, within=AllowedObjects.from_queryset(rows), limit=MAX_RESULTS
        )
    )
