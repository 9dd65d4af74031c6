"""Search of indexed texts by their words. Inside `acting`."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.word_search import (
    complete_term,
    find_best_by_words,
    find_with_all_terms,
    load_weighted_terms,
)
from kmapp.web.site_search.registry import CAP, SiteSearch


def find_ids(search: SiteSearch, collection_name: str, rows: "QuerySet[Any]") -> list[UUID]:
    """Return the ids of rows with the words, best first, or the newest if there are no words.

    If the query is an id, return the row with this id. At most `CAP` ids are returned. The caller
    checks the texts for exact phrases.
    """
    query = search.query
    if query.id:
        return list(rows.filter(pk=query.id).values_list("pk", flat=True))
    if not query.plain:
        return list(rows.order_by("-created_at", "-pk").values_list("pk", flat=True)[:CAP])
    collection = Collection(account_id=search.account_id, name=collection_name)
    within = AllowedObjects.from_queryset(rows)
    if query.required:
        best = find_with_all_terms(collection, query.required, within=within, limit=CAP)
    else:
        terms = query.terms + _complete_last_word(search, collection)
        words = load_weighted_terms(collection, terms)
        best = list(find_best_by_words(collection, words, within=within, limit=CAP))
    return [UUID(each) for each in best]


def _complete_last_word(search: SiteSearch, collection: Collection) -> list[str]:
    """Return completions of the last word; kinds of objects in one collection share them."""
    if collection.name not in search.completions:
        search.completions[collection.name] = complete_term(collection, search.query.prefix)
    return search.completions[collection.name]
