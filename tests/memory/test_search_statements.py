"""The statements of searches by reader group."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kmapp.accounts.models import Account
from kmapp.providers.active_models import active_model
from kmapp.search.models import Vector
from kmapp.search.query_vector import QueryVector
from memory.models import MemoryEntry, Viewer
from memory.models.entries import COLLECTION
from memory.retrieval.search import Hit, SearchRequest, search_with_vector
from tests import makers

VIEWERS = [Viewer(), Viewer(user_id="ann"), Viewer(user_id="bob", agent_id="helper")]


def search(account: Account, viewer: Viewer) -> list[Hit]:
    entry = makers.rows(MemoryEntry, account, user_id="")[0]
    row = makers.get(Vector, account, object_id=entry.pk, collection=COLLECTION)
    assert row.embedding is not None
    meaning = QueryVector.from_floats(active_model(), [*row.embedding])
    request = SearchRequest(query="Does rain matter to all?", viewer=viewer)
    return search_with_vector(account.pk, request, meaning)


def list_prepared() -> set[str]:
    """Return the statements that this connection has prepared."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        return {statement for [statement] in cursor.fetchall()}


@pytest.mark.parametrize("viewer", VIEWERS)
def test_first_search_of_a_viewer_counts_no_memories(packed: Account, viewer: Viewer) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert search(packed, viewer)
    statements = [each["sql"] for each in queries]
    assert [each for each in statements if each.startswith("SELECT count(*) FROM (")] == []


def test_constant_statements_are_prepared(packed: Account) -> None:
    hits = [search(packed, Viewer(user_id="ann")) for _ in range(8)]
    prepared = "".join(list_prepared())
    for table in ("packedpostings", "packedreadergroup", "packedcodes", "vector"):
        assert f"FROM search_{table}" in prepared
    scores = [[(hit.entry.pk, hit.parts) for hit in each] for each in hits]
    assert scores == [scores[0]] * len(scores), "the same with every plan"


@pytest.mark.parametrize("viewer", VIEWERS)
def test_look_ups_of_reader_groups_are_prepared(packed: Account, viewer: Viewer) -> None:
    for _ in range(2):
        search(packed, viewer)
    by_id = [
        each
        for each in list_prepared()
        if "FROM memory_memoryentry WHERE id = " in each.replace('"', "")
    ]
    for start in (
        "SELECT d.document::text, d.number",
        "SELECT c.document::text, c.distance",
        "WITH seeds",
    ):
        assert [each for each in by_id if each.strip().startswith(start)]


def test_statements_for_other_viewers_are_not_prepared(packed: Account) -> None:
    """They list memories: a plan for unknown values would be one for an average account."""
    before = list_prepared()
    for _ in range(3):
        search(packed, Viewer(agent_id="helper"))
    assert [each for each in list_prepared() - before if "memory_memoryentry" in each] == []
