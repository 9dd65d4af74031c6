"""Small accounts among large ones get complete results."""

from collections.abc import Iterator

import numpy as np
import pytest
from django.db import connection

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.management.account_lookup import get_account, list_all_accounts
from kmapp.providers.active_models import active_model
from kmapp.search import scan_method_choice
from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.nearest_search import find_nearest
from kmapp.search.query_vector import QueryVector
from memory.benchmarks.seed_accounts import seed, slug_of
from memory.benchmarks.synthetic_entries import Cloud
from memory.models import MemoryEntry
from memory.models.entries import COLLECTION
from tests.promises.plugin import RecordFigure

pytestmark = pytest.mark.promise(20)

NUMBERS = [12_000, pytest.param(20_000, marks=pytest.mark.long)]
LARGE, SMALL, TINY = 30.0, 1.0, 0.1  # percent
# All different, because accounts are named by their shares; the hundredth account gets the rest.
OTHERS = [0.70 + number / 10_000 for number in range(96)]
FIRST = 10
EXACT = "enable_indexscan = off"
BY_INDEX = "enable_sort = off"  # only the index gives vectors in order


def search(account: Account, meaning: QueryVector, setting: str = "") -> set[str]:
    """Return the first ten results as the app role; `setting` forces a query plan."""
    collection = Collection(account_id=account.pk, name=COLLECTION)
    with acting(account):
        if setting:
            with connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL {setting}")
        within = AllowedObjects.from_queryset(MemoryEntry.objects.of(account))
        return set(find_nearest(collection, meaning, within=within, limit=FIRST))


def draw_query_vectors(number: int) -> Iterator[QueryVector]:
    model = active_model()
    for vector in Cloud(model.dimensions, np.random.default_rng(7)).draw(number):
        yield QueryVector.from_floats(model, vector.tolist())


def measure_recall(number: int, account: Account, setting: str = "", *, after: Account) -> float:
    """Return recall@10; each search runs after one of another account on the same connection."""
    right = 0
    for meaning in draw_query_vectors(number):
        assert len(search(after, meaning)) == FIRST
        result = search(account, meaning, setting)
        assert len(result) == FIRST
        right += len(result & search(account, meaning, EXACT))
    return right / (number * FIRST)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("number", NUMBERS)
def test_small_accounts_get_complete_results(
    committed: str, monkeypatch: pytest.MonkeyPatch, number: int, record_figure: RecordFigure
) -> None:
    shares = [LARGE, SMALL, TINY, *OTHERS]
    seed(number, shares, report_progress=lambda done: None, report_line=lambda text: None)
    assert len(list_all_accounts()) == 100
    query_count = 100 if number >= 20_000 else 30
    large, small, tiny = (get_account(slug_of(share)) for share in (LARGE, SMALL, TINY))

    # The product's own choice: a scan of the rows of a small account, the index for a large one.
    recall = {
        "large": measure_recall(query_count, large, after=small),
        "small": measure_recall(query_count, small, after=large),
        "tiny": measure_recall(query_count, tiny, after=large),
    }
    # Force the index for small accounts: its scan must continue until it has enough of their rows.
    monkeypatch.setattr(scan_method_choice, "SCAN_FACTOR", 0)
    recall["small, by the index"] = measure_recall(query_count, small, BY_INDEX, after=large)
    recall["tiny, by the index"] = measure_recall(query_count, tiny, BY_INDEX, after=large)
    record_figure(f"{number:,} rows: all ten each time, recall@10 {min(recall.values()):.3f}")
    assert min(recall.values()) >= 0.95, recall
