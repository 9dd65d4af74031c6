"""Search timings, side by side with bare database queries.

Compare the ratios, which depend less on the machine than the timings do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import psycopg
from django.db import connection
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import issue_key
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.accounts.scopes import Scope
from kmapp.database.psycopg_cursors import binary_cursor
from kmapp.database.server_response_timeout import extend_statement_timeout
from kmapp.management.benchmark import Times
from kmapp.management.verification_cost import VerificationCost, set_verification
from kmapp.providers.active_models import active_model
from kmapp.providers.embedding import Kind, OpenAIEmbedder
from kmapp.providers.query_cache import get_query_vector
from kmapp.search.allowed_objects import Collection
from kmapp.search.query_vector import QueryVector
from kmapp.search.reader_group_search import find_nearest_in_reader_groups
from memory.benchmarks.query_plans import CapturedStatement, capture_statements
from memory.benchmarks.synthetic_entries import Cloud, Writer
from memory.models import MemoryEntry, Viewer
from memory.models.entries import COLLECTION
from memory.retrieval.candidates import MAX_PER_LIST
from memory.retrieval.search import SearchRequest, build_allowed_objects, search_with_vector

INDEX_QUERIES = (
    *("load_weighted_terms", "load_reader_group_numbers", "find_best_by_words"),
    *("load_codes", "compare", "find_nearest"),
)
BINARY_QUERIES = {"load_weighted_terms", "load_reader_group_numbers", "load_codes"}  # of arrays
VIEWERS = {
    "no user": Viewer(),
    "a user with many memories": Viewer(user_id="user-0001"),
    "a user with few": Viewer(user_id="user-0100"),
}
MAX_EXHAUSTIVE = 50  # queries that are also compared with every vector
EXHAUSTIVE_SECONDS = 120  # a statement that compares a million vectors


@dataclass(frozen=True, kw_only=True)
class SearchTimes:
    """Timings of the searches of one viewer."""

    viewer: str
    bare: Times = field(default_factory=Times)  # the index queries, by psycopg alone
    # The search with the query's vector given, with and without `verify_on_read`.
    product: VerificationCost = field(default_factory=VerificationCost)
    http: Times = field(default_factory=Times)  # with a cached vector, in the web stack
    nearest: list[tuple[float, float]] = field(default_factory=list)  # see `_compute_recall`


class CachedVectors:
    """An embedder that returns a given vector."""

    def __init__(self, vector: Sequence[float]) -> None:
        self.vector = list(vector)

    def embed(self, texts: Sequence[str], *, kind: Kind) -> list[list[float]]:
        return [self.vector for _ in texts]


class SearchBench:
    """Measurements of embedding and searching in one account."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.model = active_model()
        rng = np.random.default_rng((0, 17))
        self.writer, self.cloud = Writer(rng), Cloud(self.model.dimensions, rng)
        with acting(account):
            issued = issue_key(
                account_id=account.pk, name="perf", scopes=[Scope.ADMIN], actor=SYSTEM
            )
        bearer = {"Authorization": f"Bearer {issued.secret}"}
        self.client = Client(headers=bearer, SERVER_NAME="localhost")

    def measure_embedding(self, number: int) -> Times:
        """Measure how long the embedder takes for a query."""
        times = Times()
        embedder = OpenAIEmbedder.for_queries(self.model)
        for text in self.draw_queries(number):
            with times.timed():
                embedder.embed([text], kind="query")
        return times

    def measure_searches(self, name: str, number: int) -> SearchTimes:
        figures, viewer = SearchTimes(viewer=name), VIEWERS[name]
        warm_up = 5
        for turn, text in enumerate(self.draw_queries(number + warm_up)):
            request, vector = SearchRequest(query=text, viewer=viewer), self.draw_query_vector(text)
            search = partial(search_with_vector, self.account.pk, request, vector)
            search()  # caches the packed arrays of its words, as the measured searches read them
            with capture_statements() as statements:
                search()
            if turn < warm_up:
                continue
            self._run_bare(
                [each for each in statements if each.name in INDEX_QUERIES], figures.bare
            )
            figures.product.measure_pair(self.account, search)
            set_verification(self.account, verified=False)
            search()  # the first one after a change of the account is slower
            with figures.http.timed():
                self._post({"query": text, "user_id": viewer.user_id or None})
            if turn < warm_up + MAX_EXHAUSTIVE:
                figures.nearest.append(self._compute_recall(request, vector))
        return figures

    def measure_fresh_searches(self, number: int, *, dated: bool = False) -> Times:
        """Measure searches of random users, each with a query that nobody has used.

        Nothing about the query is in a cache, except its vector, and packed arrays of words that
        other queries have, too. Those of `measure_searches` are of three viewers, and repeat each
        query.
        """
        times, texts = Times(), self.draw_queries(number)
        with acting(self.account):
            rows = MemoryEntry.objects.of(self.account).exclude(user_id="").order_by("user_id")
            users = list(rows.values_list("user_id", flat=True).distinct())
        for text in self.writer.add_dates(texts) if dated else texts:
            viewer = Viewer(user_id=users[int(self.writer.rng.integers(len(users)))])
            request, vector = SearchRequest(query=text, viewer=viewer), self.draw_query_vector(text)
            with times.timed():
                search_with_vector(self.account.pk, request, vector)
        return times

    def _compute_recall(self, request: SearchRequest, vector: QueryVector) -> tuple[float, float]:
        """Return the share of the 10 and of the 80 nearest vectors that a search gets."""
        collection = Collection(account_id=self.account.pk, name=COLLECTION)
        within = build_allowed_objects(self.account.pk, request)
        with acting(self.account):
            extend_statement_timeout(connection, EXHAUSTIVE_SECONDS)
            got, nearest = (
                list(
                    find_nearest_in_reader_groups(
                        collection, vector, within=each, limit=MAX_PER_LIST
                    )
                )
                for each in (within, replace(within, is_scanned=True))
            )
        first, whole = (
            len({*got} & {*nearest[:depth]}) / max(1, len(nearest[:depth]))
            for depth in (10, MAX_PER_LIST)
        )
        return first, whole

    def draw_queries(self, number: int) -> list[str]:
        """Return synthetic queries, a third of them in Chinese."""
        english = self.writer.queries(number - number // 3, chinese=False)
        return english + self.writer.queries(number // 3, chinese=True)

    def draw_query_vector(self, text: str) -> QueryVector:
        """Store a synthetic vector for this query in the cache, and return it."""
        [drawn] = self.cloud.draw(1)
        embedder = CachedVectors(drawn.tolist())
        cached = get_query_vector(self.account.pk, text, model=self.model, embedder=embedder)
        return QueryVector.from_floats(self.model, cached.vector)

    def _run_bare(self, statements: Sequence[CapturedStatement], times: Times) -> None:
        with acting(self.account):
            raw = connection.connection
            with times.timed():
                for each in statements:
                    is_binary = each.name in BINARY_QUERIES
                    cursor: Any = binary_cursor() if is_binary else psycopg.ClientCursor(raw)
                    cursor.execute(each.sql, each.parameters)
                    cursor.fetchall()

    def _post(self, body: dict[str, Any]) -> None:
        response = self.client.post("/v1/memory/search", body, content_type="application/json")
        if response.status_code != 200:  # noqa: PLR2004
            raise RuntimeError(response.content.decode())
