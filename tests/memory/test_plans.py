"""The hot queries use their indexes, in an account of 90 %, of 1 % and of 0.1 % of all memories.

The test creates 12,000 memories; set `KMAPP_PLANS_AT=100000` to test a larger installation.
"""

import io
import os
import re

import numpy as np
import pytest
from django.core.management import call_command
from django.db import connections

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.management.account_lookup import get_account
from kmapp.providers.active_models import active_model
from kmapp.providers.embedding_model_lifecycle import OWNER
from kmapp.search import scan_method_choice
from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.nearest_search import find_nearest
from kmapp.search.query_vector import QueryVector
from memory.benchmarks import query_plans
from memory.benchmarks.seed_accounts import SHARES, seed, slug_of
from memory.benchmarks.synthetic_entries import Cloud
from memory.models import MemoryEntry, Viewer
from memory.models.entries import COLLECTION
from memory.retrieval.candidates import MAX_PER_LIST

NUMBER = int(os.environ.get("KMAPP_PLANS_AT", "12000"))
LARGE, SMALL, TINY = (slug_of(share) for share in SHARES)
HEAVY, LIGHT = Viewer(user_id="user-0001"), Viewer(user_id="user-0050")
# The scan and index with which each statement must read its first table, in the largest account.
EXPECTED_SCANS = {
    "load_statistics": ("Index Only Scan", "search_indexeddocument_pkey"),
    "load_weighted_terms": ("Index Scan", "search_packedpostings_pkey"),
    "find_best_by_words": ("Index Only Scan", "documents_by_number"),
    "load_exact_scores": ("Index Scan", "search_indexeddocument_pkey"),
    "find_nearest": ("Index Scan", "vectors_nearest_1_memory"),
    "list page": ("Index Scan", "entries_newest_first"),
    "review queue": ("Index Scan", "entries_by_status"),
    "topics": ("Index Scan", "topics"),
    "agents": ("Index Only Scan", "entries_of_agent"),
}
# Prepared statements of searches. The large tables are searched by these columns, except by
# indexes of what is not packed.
PREPARED = (
    *("load_weighted_terms", "load_reader_group_numbers", "find_best_by_words", "load_codes"),
    *("compare", "load_surroundings", "load_exact_scores"),
)
LARGE_TABLES = {
    *("memory_memoryentry", "memory_memoryedge", "search_indexeddocument", "search_vector"),
    *("search_packedpostings",),
}
KEY = re.compile(r"\b(id|src_id|dst_id|object_id|document|number|term|reader_group)(\)::text)? = ")
UNPACKED = {"documents_not_packed", "documents_not_coded"}


def list_scans(account: Account, viewer: Viewer) -> dict[str, list[query_plans.Scan]]:
    result = {}
    for statement in query_plans.collect_hot_statements(account, viewer):
        with acting(account):
            result[statement.name] = query_plans.list_scans(statement)
    return result


def list_scans_without_a_key(account: Account, viewer: Viewer) -> list[str]:
    """Return the scans of large tables in plans for unknown values that list rows."""
    statements = {
        each.name: each for each in query_plans.collect_hot_statements(account, viewer)
    }  # the last ones use reader groups
    assert statements.keys() >= set(PREPARED)
    problems = []
    for name in PREPARED:
        with acting(account):
            scans = query_plans.list_generic_scans(statements[name])
        for scan in scans:
            # A bitmap scan of a table has the condition of the index scan below it, which names
            # no table.
            is_of_table = scan.table in LARGE_TABLES and scan.kind != "Bitmap Heap Scan"
            is_checked = is_of_table or scan.kind == "Bitmap Index Scan"
            if is_checked and scan.index not in UNPACKED and not KEY.search(scan.condition):
                problems.append(f"{name}: {scan}")
    return problems


def pretend_tiny_accounts() -> None:
    """Let PostgreSQL expect about ten memories in an average account.

    Where a migration states the number of accounts to expect, that number remains.
    """
    with connections[OWNER].cursor() as cursor:
        cursor.execute(
            "SELECT attrelid::regclass::text FROM pg_attribute WHERE attname = 'account_id'"
            " AND attoptions IS NULL AND attrelid = ANY(%s::text[]::regclass[])",
            [sorted(LARGE_TABLES)],
        )
        for (table,) in cursor.fetchall():
            accounts = NUMBER // 10
            cursor.execute(f"ALTER TABLE {table} ALTER account_id SET (n_distinct = {accounts})")
            cursor.execute(f"ANALYZE {table}")


def enlarge_indexes_of_waiting_documents() -> None:
    """Let all documents wait, and then only ten, as after an import. Indexes keep their size."""
    changes = (
        "coding = 1, number = NULL",
        "coding = 2, number = place FROM places p WHERE d.document = p.document AND place > 10",
    )
    with connections[OWNER].cursor() as cursor:
        cursor.execute(
            "CREATE TEMPORARY TABLE places AS"
            " SELECT document, row_number() OVER () AS place FROM search_indexeddocument"
        )
        for change in changes:
            cursor.execute(f"UPDATE search_indexeddocument d SET {change}")  # noqa: S608
        cursor.execute("DROP TABLE places")
        cursor.execute("VACUUM ANALYZE search_indexeddocument")


def query(model_cloud: Cloud) -> QueryVector:
    return QueryVector.from_floats(active_model(), model_cloud.draw(1)[0].tolist())


def find_neighbours(
    account: Account, meaning: QueryVector, viewer: Viewer | None = None
) -> list[object]:
    with acting(account):
        rows = MemoryEntry.objects.of(account)
        rows = rows.current().visible_to(viewer) if viewer else rows
        collection = Collection(account_id=account.pk, name=COLLECTION)
        return list(
            find_nearest(collection, meaning, within=AllowedObjects.from_queryset(rows), limit=80)
        )


@pytest.mark.timeout(1800)
def test_query_plans_use_indexes(committed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seed(NUMBER, SHARES, report_progress=lambda done: None, report_line=lambda text: None)
    accounts = {slug: get_account(slug) for slug in (LARGE, SMALL, TINY)}

    for account in accounts.values():
        for viewer in (Viewer(), LIGHT):
            assert query_plans.list_whole_table_reads(account, viewer) == [], viewer

    large = list_scans(accounts[LARGE], HEAVY)
    by = {name: (large[name][0].kind, large[name][0].index) for name in EXPECTED_SCANS}
    assert by == EXPECTED_SCANS
    exact = [scan.index for scan in list_scans(accounts[TINY], Viewer())["find_nearest"]]
    assert "vectors_nearest_1_memory" not in exact
    [head, _] = [
        query_plans.list_scans(each, owner=True) for each in query_plans.build_claim_statements()
    ]
    assert head[0].index == "deliveries_due"

    # A tiny account searched right after a large one on the same connection gets all its rows.
    cloud = Cloud(active_model().dimensions, np.random.default_rng(1))
    for _ in range(10):
        meaning = query(cloud)
        assert len(find_neighbours(accounts[LARGE], meaning)) == MAX_PER_LIST
        assert len(find_neighbours(accounts[TINY], meaning)) == min(MAX_PER_LIST, NUMBER // 1000)

    # A scan and the index return nearly the same first ten.
    shared = 0
    for optional_viewer in (HEAVY, None) * 5:
        meaning = query(cloud)
        by_index = find_neighbours(accounts[LARGE], meaning, optional_viewer)
        monkeypatch.setattr(
            scan_method_choice, "SCAN_FACTOR", NUMBER
        )  # so that every search is a scan
        one_by_one = find_neighbours(accounts[LARGE], meaning, optional_viewer)
        monkeypatch.undo()
        shared += len(set(by_index[:10]) & set(one_by_one[:10]))
    assert shared >= 95

    # Plans for unknown values expect an average account: they must not list rows, however few.
    enlarge_indexes_of_waiting_documents()
    pretend_tiny_accounts()
    for viewer in (Viewer(), HEAVY):
        assert list_scans_without_a_key(accounts[LARGE], viewer) == [], viewer


def test_seeded_accounts_pass_fsck(committed: str) -> None:
    """Seeding again adds to the accounts; each time the largest gets two commits."""
    for _ in range(2):
        seed(600, SHARES, report_progress=lambda done: None, report_line=lambda text: None)
    call_command("fsck", stdout=io.StringIO())
    with acting(get_account(LARGE)) as account_id:
        assert MemoryEntry.objects.of(account_id).count() == 1_080
