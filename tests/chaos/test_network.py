"""A faulty network between every pair of processes loses and doubles nothing."""

import http.client
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from urllib.parse import urlsplit

import pytest

from kmapp.accounts.models import Account
from kmapp.runtime import embedded
from kmapp.runtime.embedded.temporary_servers import free_port
from kmapp.runtime.embedded.valkey import Valkey
from memory.models import MemoryEntry
from tests import makers
from tests.chaos.conftest import ChaosServer, SeparateProduct
from tests.chaos.measure import SHORT, amount, limit, seconds_until
from tests.chaos.product import Product
from tests.chaos.proxy import FAULTS, Proxy
from tests.promises.plugin import RecordFigure

pytestmark = [pytest.mark.chaos, pytest.mark.alone, pytest.mark.promise(41)]

SECONDS = amount(4, 2)  # of requests during each fault
# By pair: the statuses that faults may cause, and the limit of a request in seconds. With
# PostgreSQL, a request may wait for a connection and a statement; with the others, for a deadline.
PAIRS: dict[str, tuple[set[int], float]] = {
    "postgres": ({503}, 15.0),
    "valkey": (set(), 5.0),
    "embedder": (set(), 5.0),
    "chat": (set(), 5.0),
    "web": ({0, 400, 408}, 15.0),  # 0: no response
}
BRIEF = [
    *[("postgres", "reset"), ("postgres", "blackhole"), ("valkey", "blackhole")],
    *[("embedder", "truncation"), ("chat", "reset"), ("web", "truncation")],
]
CASES = BRIEF if SHORT else [(pair, fault) for pair in PAIRS for fault in FAULTS]


@dataclass
class Network:
    """The product with a proxy in front of each of its servers."""

    product: Product
    account: Account
    proxies: dict[str, Proxy]
    numbers: Iterator[int] = field(default_factory=count)
    tried: set[str] = field(default_factory=set)
    acknowledged: set[str] = field(default_factory=set)

    def ask(self, path: str, body: object) -> int:
        """Send a request through the proxy; return its status, or 0 without a full response."""
        try:
            return self.product.post(path, body).status
        except (OSError, http.client.HTTPException, ValueError):
            return 0

    def write(self, name: str) -> int:
        self.tried.add(name)
        text = f"Note {name} of a day with a bad line."
        status = self.ask("memory/store", {"text": text, "client_id": name, "user_id": "ann"})
        if status in (200, 201):
            self.acknowledged.add(name)
        return status

    def recall(self) -> int:
        query = f"Which notes are there of day {next(self.numbers)}?"
        return self.ask("memory/search", {"query": query, "user_id": "ann"})

    def extract(self) -> int:
        messages = [{"role": "user", "content": f"I moved to street {next(self.numbers)}."}]
        return self.ask("memory/add", {"messages": messages, "user_id": "eve"})

    def works(self) -> bool:
        return {self.write(f"n{next(self.numbers)}"), self.recall()} <= {200, 201}


@pytest.fixture
def network(chaos_server: ChaosServer, separate_product: SeparateProduct) -> Iterator[Network]:
    """Start the product behind proxies; requests to it go through the proxy of the web server."""
    with ExitStack() as stack:
        provider, web = free_port(), free_port()
        # The folder of the product is not known yet, so its Valkey has one of its own.
        home = chaos_server.home / f"net{web}"
        home.mkdir()
        valkey = Valkey(home / "valkey", home / "valkey.sock", home / "valkey.log")
        stack.enter_context(valkey)
        targets: dict[str, str | int] = {
            "postgres": str(chaos_server.postgres.sockets / ".s.PGSQL.5432"),
            "valkey": str(valkey.socket),
            "embedder": provider,
            "chat": provider,
            "web": web,
        }
        proxies = {
            name: stack.enter_context(Proxy(target).serving()) for name, target in targets.items()
        }
        embedder, chat = (
            f"http://127.0.0.1:{proxies[name].port}/v1" for name in ("embedder", "chat")
        )
        product, account = stack.enter_context(
            separate_product(
                REDIS_URL=f"redis://127.0.0.1:{proxies['valkey'].port}",
                EMBEDDING_BASE_URL=embedder,
                EMBEDDING_BATCH_BASE_URL=embedder,
                OPENAI_BASE_URL=chat,
                PORT=str(web),
            )
        )
        name = urlsplit(product.database).path
        product.database = (
            f"postgres://{embedded.ROLES['app']}@127.0.0.1:{proxies['postgres'].port}{name}"
            "?sslmode=disable&gssencmode=disable"
        )
        product.provider_port, product.port = provider, proxies["web"].port
        product.ensure_running("provider", "web", "worker", "beat")
        yield Network(product, account, proxies)


def _run(network: Network, pair: str, fault: str) -> tuple[Counter[int], float]:
    """Send requests during a fault; return their statuses and the longest time."""
    statuses, longest = Counter[int](), 0.0
    unsure: list[str] = []
    network.proxies[pair].become(FAULTS[fault])
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        name = f"n{next(network.numbers)}"
        for request in (partial(network.write, name), network.recall, network.extract):
            began = time.monotonic()
            statuses[request()] += 1
            longest = max(longest, time.monotonic() - began)
        if name not in network.acknowledged:
            unsure.append(name)
    network.proxies[pair].become()
    seconds_until(network.works, 20)
    assert {network.write(name) for name in unsure} <= {200, 201}, "a retry is safe"
    return statuses, longest


def test_faulty_network_loses_nothing(network: Network, record_figure: RecordFigure) -> None:
    """Faults cause only documented errors within the limits, and no process has to restart."""
    running = {name: process.pid for name, process in network.product.running.items()}
    seconds_until(network.works, 30)
    slowest: dict[str, float] = {}
    for pair, fault in CASES:
        allowed, most = PAIRS[pair]
        statuses, longest = _run(network, pair, fault)
        assert set(statuses) <= {200, 201, 202} | allowed, (pair, fault, statuses)
        assert longest <= limit(most), (pair, fault, longest)
        slowest[pair] = max(slowest.get(pair, 0.0), longest)
    seconds_until(network.product.is_idle, 120)
    assert {name: each.pid for name, each in network.product.running.items()} == running
    assert all(each.poll() is None for each in network.product.running.values())
    rows = makers.rows(MemoryEntry, network.account, user_id="ann")
    stored = Counter(row.client_id for row in rows)
    assert set(stored) == network.tried == network.acknowledged
    assert set(stored.values()) == {1}
    network.product.command("fsck")
    times = ", ".join(f"{pair} {seconds:.1f} s" for pair, seconds in slowest.items())
    record_figure(
        f"{len(CASES)} faults, {len(stored)} memories once each; slowest request: {times}"
    )
