"""Keyword search returns the best documents, however few of all documents are visible."""

from collections import Counter
from random import Random
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.database.ids import uuid7
from kmapp.search import bm25, common_terms, posting_packing, scan_method_choice
from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.exact_scores import load_exact_scores
from kmapp.search.posting_packing import pack_recent, purge_removed
from kmapp.search.word_index import index_documents, remove_documents
from kmapp.search.word_search import (
    WeightedTerms,
    find_best_by_words,
    find_with_all_terms,
    load_weighted_terms,
)
from kmapp.text.terms import extract_terms

WORDS = ["tea", "cup", "milk", "sugar", "spoon", "kettle"]
LIMIT = 3


def random_texts(random: Random) -> dict[UUID, str]:
    """Return texts with common and rare words."""
    weights = [1 / (place + 1) for place in range(len(WORDS))]
    return {
        uuid7(): " ".join(random.choices(WORDS, weights, k=random.randint(1, 8))) for _ in range(40)
    }


def index_in_parts(collection: Collection, texts: dict[UUID, str], random: Random) -> None:
    """Index texts, pack some of them, and add and remove other documents."""
    removed = {uuid7(): "tea cup milk" for _ in range(3)}
    account_id, name = collection.account_id, collection.name
    documents = list((texts | removed).items())
    random.shuffle(documents)
    middle = random.randint(0, len(documents))
    index_documents(account_id, name, dict(documents[:middle]))
    pack_recent(account_id, name, at_least=random.randint(1, 40))
    index_documents(account_id, name, dict(documents[middle:]))
    remove_documents(account_id, [name], removed)
    purge_removed(account_id, name)


def score_all(texts: dict[UUID, str], words: WeightedTerms) -> dict[UUID, float]:
    """Return the scores of all texts that contain at least one of the words."""
    counts = {document: Counter(extract_terms(text)) for document, text in texts.items()}
    scores = {
        document: bm25.score(words.idf, each, each.total(), words.average_length)
        for document, each in counts.items()
    }
    return {document: score for document, score in scores.items() if score}


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    seed=st.integers(0, 2**32),
    share=st.floats(0.0, 1.0),
    query=st.sets(st.sampled_from(WORDS)),
    scan_factor=st.sampled_from([0, 5, 30]),
)
def test_best_documents_are_those_of_an_exhaustive_search(
    acme: Account,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    share: float,
    query: set[str],
    scan_factor: float,
) -> None:
    monkeypatch.setattr(scan_method_choice, "SCAN_FACTOR", scan_factor)
    monkeypatch.setattr(posting_packing, "BLOCK", 8)
    random = Random(seed)  # noqa: S311 - no secrets
    texts = random_texts(random)
    allowed = [document for document in texts if random.random() < share]
    with acting(acme):
        collection = Collection(account_id=acme.pk, name=str(uuid7())[:30])
        index_in_parts(collection, texts, random)
        query_terms = list(extract_terms(" ".join(sorted(query))))
        words = load_weighted_terms(collection, query_terms)
        within = AllowedObjects.from_ids(allowed)
        best = find_best_by_words(collection, words, within=within, limit=LIMIT)
        exact = load_exact_scores(
            collection, words, None, map(str, texts), context_collection="none"
        )
        containing_all = find_with_all_terms(collection, query_terms, within=within, limit=LIMIT)
    scores = score_all(texts, words)
    best_scores = sorted((scores[pk] for pk in allowed if pk in scores), reverse=True)
    assert list(best.values()) == pytest.approx(best_scores[:LIMIT])
    assert exact.bm25 == pytest.approx({str(pk): score for pk, score in scores.items()})
    assert exact.term_mask == {
        str(pk): bm25.build_term_mask(words.idf, list(extract_terms(texts[pk]))) for pk in scores
    }
    assert best.keys() <= {str(document) for document in allowed}
    matching = [str(pk) for pk in allowed if query and query <= set(texts[pk].split())]
    assert containing_all == sorted(matching, reverse=True)[:LIMIT]


def test_common_terms_of_long_queries_are_not_searched(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {uuid7(): "tea cup milk", uuid7(): "tea cup", uuid7(): "tea"}
    collection = Collection(account_id=acme.pk, name=str(uuid7())[:30])
    query_terms = ["tea", "cup", "unknown", "milk"]
    with acting(acme):
        index_documents(acme.pk, collection.name, texts)
        pack_recent(acme.pk, collection.name, at_least=1)
        complete = load_weighted_terms(collection, query_terms)
        monkeypatch.setattr(common_terms, "MAX_SEARCHED_TERMS", 3)
        unlimited = load_weighted_terms(collection, query_terms)
        monkeypatch.setattr(common_terms, "MAX_SEARCHED_TERMS", 2)
        limited = load_weighted_terms(collection, query_terms)
        within = AllowedObjects.from_ids(list(texts))
        best = find_best_by_words(collection, limited, within=within, limit=LIMIT)
    assert list(complete.idf) == ["unknown", "milk", "cup", "tea"]
    assert unlimited == complete
    assert (list(limited.idf), list(limited.common_idf)) == (["unknown", "milk", "cup"], ["tea"])
    assert {**limited.idf, **limited.common_idf} == complete.idf
    assert limited.packed.keys() == {"milk", "cup"}
    assert list(best) == [str(document) for document in list(texts)[:2]]
