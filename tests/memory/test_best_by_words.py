"""Searches by words return what scoring every document would, however few of them may be found."""

from collections import Counter
from random import Random
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.database.ids import uuid7
from kmapp.search import bm25, queries
from kmapp.search.actions import index_terms
from kmapp.search.queries import AllowedObjects, Collection
from kmapp.text.terms import terms

WORDS = ["tea", "cup", "milk", "sugar", "spoon", "kettle"]
LIMIT = 3


def random_texts(random: Random) -> dict[UUID, str]:
    """Return texts with common and rare words."""
    weights = [1 / (place + 1) for place in range(len(WORDS))]
    return {
        uuid7(): " ".join(random.choices(WORDS, weights, k=random.randint(1, 8))) for _ in range(40)
    }


def score_all(
    texts: dict[UUID, str], allowed: list[UUID], words: queries.WeightedTerms
) -> list[float]:
    counts = {document: Counter(terms(texts[document])) for document in allowed}
    scores = (
        bm25.score(words.idf, each, each.total(), words.average_length) for each in counts.values()
    )
    return sorted((score for score in scores if score), reverse=True)[:LIMIT]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32), share=st.floats(0.0, 1.0), query=st.sets(st.sampled_from(WORDS)))
def test_best_documents_are_those_of_an_exhaustive_search(
    acme: Account, monkeypatch: pytest.MonkeyPatch, seed: int, share: float, query: set[str]
) -> None:
    monkeypatch.setattr(queries, "SCAN_FACTOR", 0)  # no filter is treated as selective
    random = Random(seed)  # noqa: S311 - no secrets
    texts = random_texts(random)
    allowed = [document for document in texts if random.random() < share]
    with acting(acme):
        collection = Collection(account_id=acme.pk, name=str(uuid7())[:30])
        index_terms(acme.pk, collection.name, texts)
        words = queries.load_weighted_terms(collection, sorted(query))
        best = queries.find_best_by_words(
            collection, words, within=AllowedObjects.from_ids(allowed), limit=LIMIT
        )
    assert list(best.values()) == pytest.approx(score_all(texts, allowed, words))
    assert best.keys() <= {str(document) for document in allowed}
