"""The comparison with other stores: its caching embedder, its turns and its tables."""

import base64
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import numpy as np
import pytest

from tests.fake_provider import FakeProvider
from tests.peers import report
from tests.peers.catalogue import PEERS
from tests.peers.embedding_proxy import VectorCache, serve_cache
from tests.peers.measurement import Figures, measure
from tests.peers.systems import System, Timing
from tests.peers.texts import Item, Question


@pytest.fixture
def upstream() -> Iterator[FakeProvider]:
    with FakeProvider().serving() as fake:
        yield fake


def test_proxy_computes_each_passage_once_and_returns_both_forms(
    upstream: FakeProvider, tmp_path: Path
) -> None:
    cache = VectorCache(tmp_path / "vectors.sqlite", upstream.url, "fake")
    with serve_cache(cache) as (address, texts_of), httpx.Client(base_url=address) as client:

        def embed(*texts: str, **more: str) -> list[list[float] | str]:
            body = {"model": "e5-passage", "input": texts, **more}
            data = client.post("/mem0/v1/embeddings", json=body).json()["data"]
            return [each["embedding"] for each in data]

        floats = embed("tea", "coffee", "tea")
        [encoded] = embed("coffee", encoding_format="base64")
        assert cache.computed == 2
        embed("tea", model="e5-query")
        assert cache.computed == 3, "a query has another vector than a passage"
        assert texts_of == {"mem0": 5}
    cache.close()
    assert floats[0] == floats[2] != floats[1]
    assert np.frombuffer(base64.b64decode(str(encoded)), np.float32).tolist() == floats[1]


class Shelf(System):
    """A store in which texts without vowels cannot be found."""

    through = "in process"
    version = "1"

    def __init__(self, name: str, journal: list[str]) -> None:
        self.name, self.journal = name, journal
        self.items: list[Item] = []

    def add(self, items: Sequence[Item]) -> Timing:
        self.journal.append(self.name)
        self.items += items
        return Timing(0.5, 0.25)

    def wait_until_findable(self) -> float:
        return 0.5

    def search(self, query: str, user: str, limit: int) -> tuple[list[str], Timing]:
        hits = [item.id for item in self.items if item.user == user and set("aeiou") & {*item.text}]
        return hits[:limit], Timing(0.03, 0.02)

    def search_again(self, query: str, user: str, limit: int) -> float:
        return -1.0

    def bytes_on_disk(self) -> int:
        return 1000 * len(self.items)

    def memory(self) -> float:
        return 12.0


def measure_peers(journal: list[str]) -> list[Figures]:
    items = [
        Item(str(number), text, "ann", "", "2024-01-01T00:00:00Z")
        for number, text in enumerate(["tea", "grn", *["rye"] * 200])
    ]
    singles = [Item("one", "oat", "bob", "", ""), Item("two", "oat", "bob", "", "")]
    questions = [Question("drinks", "what", "ann", frozenset({"0", "1"}))] * 2
    stores = [Shelf("first", journal), Shelf("mem0", journal)]
    return measure(stores, items, singles, questions, report=lambda _: None)


def test_stores_take_turns_and_their_order_changes() -> None:
    journal: list[str] = []
    measure_peers(journal)
    assert journal == ["first", "mem0", "mem0", "first"] * 2


def test_tables_contain_rates_without_embeddings_and_shares_of_gold() -> None:
    first, mem0 = measure_peers([])
    now = report.Circumstances(
        command="make bench-peers",
        machine="2 cores",
        versions="PostgreSQL 18",
        texts="202 texts",
        embedder_rate=50.0,
        texts_of={"first": 408, "mem0": 204},
        computed=0,
        left_out={"chroma": "no wheel"},
    )
    page = report.render_report([first, mem0], PEERS, now)
    # 202 texts in two batches of .25 s without the embedding, each findable after 1 s.
    assert "| first | 4 | 404 | 1000 / 1000 | 101 | 2.00 | 25 |" in page
    assert "| mem0 | in process | 30.0 / 30.0 | 10.0 / 10.0 | 1.0 | 12 |" in page
    assert "| mem0 | 0.500 | 1.000 | 10.0 |" in page
    assert "Not measured: chroma: no wheel" in page
    assert "infer=False" in page
    assert "- disk: none" in page


def test_page_names_the_stores_that_are_better() -> None:
    [heading, lines] = report.list_better_stores(
        [("kmapp", {"disk": 2.0}), ("mem0", {"disk": 3.0})]
    )
    assert heading.startswith("Better than kmapp")
    assert lines == "- disk: mem0 1.5×"
