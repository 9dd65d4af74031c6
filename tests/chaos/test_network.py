"""A faulty network between the processes of a deployment loses and doubles nothing.

Ordinary tests cover the services at its edge: `test_*_faults.py` in other folders.
"""

import http.client
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from urllib.parse import urlsplit

import pytest
from django.db.models import Q

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.outbox.models import Delivery
from kmapp.runtime import embedded
from kmapp.runtime.embedded.temporary_servers import free_port
from kmapp.runtime.embedded.valkey import Valkey
from memory.models import MemoryEntry
from tests import makers
from tests.chaos.conftest import ChaosServer, SeparateProduct
from tests.chaos.measure import SHORT, amount, limit, seconds_until
from tests.chaos.product import Product
from tests.chaos.proxy import FAULTS, LATE, SERVICE_FAULTS, Proxy
from tests.chaos.test_checkpoints import Ages
from tests.promises.plugin import RecordFigure

pytestmark = [pytest.mark.chaos, pytest.mark.alone, pytest.mark.promise(41)]

SECONDS = amount(4, 2)  # of requests during each fault
# By pair: the statuses that faults may cause, and the limit of a request in seconds. With
# PostgreSQL, a request may wait for a connection, a statement, or a lock of another process; with
# the others, for a deadline.
DATABASE = {503}, 15.0
OTHER = set[int](), 5.0
PAIRS: dict[str, tuple[set[int], float]] = {
    "web to postgres": DATABASE,
    "web to valkey": OTHER,
    "web to embedder": OTHER,
    "client to web": ({0, 400, 408}, 15.0),  # 0: no response
    "worker to postgres": DATABASE,
    "worker to valkey": OTHER,
    "worker to embedder": OTHER,
    "worker to chat": OTHER,
    "beat to postgres": DATABASE,
    "beat to valkey": OTHER,
}
PROVIDERS = ("web to embedder", "worker to embedder", "worker to chat")
# The first fault of a provider, while its circuit is closed.
LATE_CASES = [(pair, LATE) for pair in PROVIDERS]
BRIEF = [
    ("web to postgres", "reset"),
    ("web to postgres", "blackhole"),
    ("web to valkey", "blackhole"),
    ("client to web", "truncation"),
    ("worker to postgres", "blackhole"),
    ("worker to embedder", "truncation"),
    ("worker to chat", "reset"),
    ("beat to valkey", "reset"),
]
ALL = [*LATE_CASES, *(BRIEF if SHORT else [(pair, fault) for pair in PAIRS for fault in FAULTS])]
GROUPS = {
    "requests": [each for each in ALL if each[0].startswith(("web", "client"))],
    "jobs": [each for each in ALL if each[0].startswith(("worker", "beat"))],
}
DEADLINES = {  # seconds; shorter than a request and its response with LATE
    "CHAT_DEADLINE": "4",
    "EMBEDDING_BATCH_DEADLINE": "4",
    "BREAKER_RESET_SECONDS": "1",  # so that each fault reaches the providers
}


@dataclass
class Network:
    """The product with a proxy in front of each of its servers."""

    product: Product
    account: Account
    proxies: dict[str, Proxy]
    numbers: Iterator[int] = field(default_factory=count)
    tried: set[str] = field(default_factory=set)
    acknowledged: set[str] = field(default_factory=set)
    codes: set[str] = field(default_factory=set)  # of decisions in responses to searches

    def ask(self, path: str, body: object) -> int:
        """Send a request through the proxy; return its status, or 0 without a full response."""
        try:
            answer = self.product.post(path, body)
        except (OSError, http.client.HTTPException, ValueError):
            return 0
        if isinstance(answer.body, dict):
            self.codes |= {each["code"] for each in answer.body.get("decisions", ())}
        return answer.status

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

    def has_missed_deadline(self, pair: str) -> bool:
        """Return whether a call to the provider of this pair has exceeded its deadline."""
        if pair.startswith("web"):
            return "km_timeout" in self.codes
        reason = Q(reason="km_timeout") | Q(last_error__startswith="ProviderTimeout")
        with acting(self.account):
            return Delivery.objects.of(self.account).open().filter(reason).exists()


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
        servers: dict[str, str | int] = {
            "postgres": str(chaos_server.postgres.sockets / ".s.PGSQL.5432"),
            "valkey": str(valkey.socket),
            "embedder": provider,
            "chat": provider,
            "web": web,
        }
        proxies = {
            pair: stack.enter_context(Proxy(servers[pair.split()[-1]]).serving()) for pair in PAIRS
        }
        product, account = stack.enter_context(
            separate_product(**DEADLINES, PORT=str(web), REDIS_URL=valkey.url())
        )
        name = urlsplit(product.database).path
        product.provider_port, product.port = provider, proxies["client to web"].port
        for part in ("web", "worker", "beat"):
            product.part_environment[part] = _build_environment(proxies, part, name)
        product.database = product.part_environment["web"]["DATABASE_URL"]
        product.ensure_running("provider", "web", "worker", "beat")
        yield Network(product, account, proxies)


def _build_environment(proxies: Mapping[str, Proxy], part: str, database: str) -> dict[str, str]:
    """Return the addresses of the proxies between a process and its servers."""
    caller = "web" if part == "web" else "worker"  # beat calls no provider
    embedder = f"http://127.0.0.1:{proxies[f'{caller} to embedder'].port}/v1"
    postgres = f"{embedded.ROLES['app']}@127.0.0.1:{proxies[f'{part} to postgres'].port}{database}"
    return {
        "DATABASE_URL": f"postgres://{postgres}?sslmode=disable&gssencmode=disable",
        "REDIS_URL": f"redis://127.0.0.1:{proxies[f'{part} to valkey'].port}",
        "EMBEDDING_BASE_URL": embedder,
        "EMBEDDING_BATCH_BASE_URL": embedder,
        "OPENAI_BASE_URL": f"http://127.0.0.1:{proxies['worker to chat'].port}/v1",
    }


def _run(network: Network, pair: str, fault: str) -> tuple[Counter[int], float]:
    """Send requests during a fault; return their statuses and the longest time."""
    statuses, longest = Counter[int](), 0.0
    unsure: list[str] = []
    network.codes.clear()
    network.proxies[pair].become((FAULTS | {LATE: SERVICE_FAULTS[LATE]})[fault])
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        name = f"n{next(network.numbers)}"
        for request in (partial(network.write, name), network.recall, network.extract):
            began = time.monotonic()
            statuses[request()] += 1
            longest = max(longest, time.monotonic() - began)
        # Jobs accumulate during the fault; refused requests, which take no time, do not.
        time.sleep(0.2 if pair.startswith(("worker", "beat")) else 0.02)
        if name not in network.acknowledged:
            unsure.append(name)
    if fault == LATE:
        seconds_until(partial(network.has_missed_deadline, pair), 30)
    network.proxies[pair].become()
    seconds_until(network.works, 20)
    if pair.startswith("beat"):
        seconds_until(Ages(network.product, network.account).is_signed, 60)
    retries = {name: network.write(name) for name in unsure}
    log = network.product.log("web").read_text(errors="replace")
    assert {*retries.values()} <= {200, 201}, f"a retry is safe: {retries}\n{log[-4000:]}"
    return statuses, longest


@pytest.mark.parametrize("group", GROUPS)
def test_faulty_network_loses_nothing(
    network: Network, record_figure: RecordFigure, group: str
) -> None:
    """Faults cause only documented errors within the limits, and no process has to restart."""
    running = network.product.pids()
    seconds_until(network.works, 30)
    slowest: dict[str, float] = {}
    for pair, fault in GROUPS[group]:
        allowed, most = PAIRS[pair]
        statuses, longest = _run(network, pair, fault)
        assert set(statuses) <= {200, 201, 202} | allowed, (pair, fault, statuses)
        assert longest <= limit(most), (pair, fault, longest)
        slowest[pair] = max(slowest.get(pair, 0.0), longest)
    seconds_until(network.product.is_idle, 180)
    assert network.product.pids() == running
    assert not {pair for pair, _ in GROUPS[group] if not network.proxies[pair].connections}
    rows = makers.rows(MemoryEntry, network.account, user_id="ann")
    stored = Counter(row.client_id for row in rows)
    assert set(stored) == network.tried == network.acknowledged
    assert set(stored.values()) == {1}
    network.product.command("fsck")
    times = ", ".join(f"{pair} {seconds:.1f} s" for pair, seconds in slowest.items())
    record_figure(
        f"{len(GROUPS[group])} faults, {len(stored)} memories once each; slowest request: {times}"
    )
