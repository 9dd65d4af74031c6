"""A faulty network between the processes of a deployment loses and doubles nothing.

Ordinary tests cover the services at its edge: `test_*_faults.py` in other folders.
"""

import http.client
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
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
from tests.webhook_receiver import Receiver, receive_webhooks

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
    "mcp to postgres": DATABASE,
    "mcp to valkey": OTHER,
    "mcp to embedder": OTHER,
    "web to collector": OTHER,  # of traces
    "worker to collector": OTHER,
    "mcp to collector": OTHER,
}
PROVIDERS = ("web to embedder", "worker to embedder", "worker to chat", "mcp to embedder")
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
    ("mcp to postgres", "reset"),
    ("web to collector", "blackhole"),
]
ALL = [*LATE_CASES, *(BRIEF if SHORT else [(pair, fault) for pair in PAIRS for fault in FAULTS])]
GROUPS = {
    "requests": [each for each in ALL if each[0].startswith(("web", "client"))],
    "jobs": [each for each in ALL if each[0].startswith(("worker", "beat"))],
    "tool calls": [each for each in ALL if each[0].startswith("mcp")],
}
DEADLINES = {  # seconds; shorter than a request and its response with LATE
    "CHAT_DEADLINE": "4",
    "EMBEDDING_BATCH_DEADLINE": "4",
    "BREAKER_RESET_SECONDS": "1",  # so that each fault reaches the providers
    "OTEL_BSP_SCHEDULE_DELAY": "200",  # milliseconds
    "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
}


@dataclass
class Network:
    """The product with a proxy in front of each of its servers."""

    product: Product
    account: Account
    proxies: dict[str, Proxy]
    collector: Receiver
    uses_mcp: bool = False  # for requests that have a tool
    numbers: Iterator[int] = field(default_factory=count)
    tried: set[str] = field(default_factory=set)
    acknowledged: set[str] = field(default_factory=set)
    codes: set[str] = field(default_factory=set)  # of decisions in responses to searches

    def ask(self, path: str, body: Mapping[str, object]) -> int:
        """Send a request through the proxy; return its status, or 0 without a full response."""
        try:
            answer = self.product.post(path, body)
        except (OSError, http.client.HTTPException, ValueError):
            return 0
        if isinstance(answer.body, dict):
            self.codes |= {each["code"] for each in answer.body.get("decisions", ())}
        return answer.status

    def call_tool(self, name: str, arguments: Mapping[str, object]) -> int:
        """Call a tool; return the status of the response, or of the error in its result."""
        params = {"name": name, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        server = replace(self.product, port=self.product.mcp_port)
        answer = server.request("POST", "/mcp", body, Accept="application/json, text/event-stream")
        if answer.status != HTTPStatus.OK:
            return answer.status
        [line] = [line for line in answer.body.splitlines() if line.startswith("data: {")]
        result = json.loads(line.removeprefix("data: "))["result"]
        if result.get("isError"):
            [content] = result["content"]
            assert "(unavailable)" in content["text"], content
            return HTTPStatus.SERVICE_UNAVAILABLE
        self.codes |= {each["code"] for each in result["structuredContent"].get("decisions", ())}
        return HTTPStatus.OK

    def write(self, text: str) -> int:
        self.tried.add(text)
        memory = {"text": text, "user_id": "ann"}
        if self.uses_mcp:
            status = self.call_tool("memory_store", memory)
        else:
            status = self.ask("memory/store", {**memory, "client_id": text})
        if status in (200, 201):
            self.acknowledged.add(text)
        return status

    def recall(self) -> int:
        search = {"query": f"Which notes are there of day {next(self.numbers)}?", "user_id": "ann"}
        if self.uses_mcp:
            return self.call_tool("memory_search", search)
        return self.ask("memory/search", search)

    def extract(self) -> int:
        messages = [{"role": "user", "content": f"I moved to street {next(self.numbers)}."}]
        return self.ask("memory/add", {"messages": messages, "user_id": "eve"})

    def make_note(self) -> str:
        return f"Note n{next(self.numbers)} of a day with a bad line."

    def works(self) -> bool:
        return {self.write(self.make_note()), self.recall()} <= {200, 201}

    def exports_traces(self, process: str, after: int) -> bool:
        """Return whether the collector has got spans of this process after so many requests."""
        service = f"kmapp-{process}".encode()
        return self.works() and any(service in body for _, body in self.collector.requests[after:])

    def has_missed_deadline(self, pair: str) -> bool:
        """Return whether a call to the provider of this pair has exceeded its deadline."""
        if pair.startswith(("web", "mcp")):
            return "km_timeout" in self.codes
        reason = Q(reason="km_timeout") | Q(last_error__startswith="ProviderTimeout")
        with acting(self.account):
            return Delivery.objects.of(self.account).open().filter(reason).exists()


@pytest.fixture
def network(chaos_server: ChaosServer, separate_product: SeparateProduct) -> Iterator[Network]:
    """Start the product behind proxies; requests to it go through the proxy of the web server."""
    with ExitStack() as stack:
        provider, web = free_port(), free_port()
        collector = stack.enter_context(receive_webhooks())
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
            "collector": int(collector.netloc.rpartition(":")[-1]),
        }
        proxies = {
            pair: stack.enter_context(Proxy(servers[pair.split()[-1]]).serving()) for pair in PAIRS
        }
        product, account = stack.enter_context(
            separate_product(**DEADLINES, PORT=str(web), REDIS_URL=valkey.url())
        )
        name = urlsplit(product.database).path
        product.provider_port, product.port = provider, proxies["client to web"].port
        for part in ("web", "worker", "beat", "mcp"):
            product.part_environment[part] = _build_environment(proxies, part, name)
        product.database = product.part_environment["web"]["DATABASE_URL"]
        product.ensure_running("provider", "web", "worker", "beat", "mcp")
        yield Network(product, account, proxies, collector)


def _build_environment(proxies: Mapping[str, Proxy], part: str, database: str) -> dict[str, str]:
    """Return the addresses of the proxies between a process and its servers."""
    caller = "worker" if part == "beat" else part  # beat calls no provider and sends no traces
    embedder = f"http://127.0.0.1:{proxies[f'{caller} to embedder'].port}/v1"
    postgres = f"{embedded.ROLES['app']}@127.0.0.1:{proxies[f'{part} to postgres'].port}{database}"
    return {
        "DATABASE_URL": f"postgres://{postgres}?sslmode=disable&gssencmode=disable",
        "REDIS_URL": f"redis://127.0.0.1:{proxies[f'{part} to valkey'].port}",
        "EMBEDDING_BASE_URL": embedder,
        "EMBEDDING_BATCH_BASE_URL": embedder,
        "OPENAI_BASE_URL": f"http://127.0.0.1:{proxies['worker to chat'].port}/v1",
        "OTEL_EXPORTER_OTLP_ENDPOINT": (
            f"http://127.0.0.1:{proxies[f'{caller} to collector'].port}"
        ),
    }


def _run(network: Network, pair: str, fault: str) -> tuple[Counter[int], float]:
    """Send requests during a fault; return their statuses and the longest time."""
    statuses, longest = Counter[int](), 0.0
    network.codes.clear()
    network.proxies[pair].become((FAULTS | {LATE: SERVICE_FAULTS[LATE]})[fault])
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        text = network.make_note()
        for request in (partial(network.write, text), network.recall, network.extract):
            began = time.monotonic()
            statuses[request()] += 1
            longest = max(longest, time.monotonic() - began)
        # Jobs accumulate during the fault; refused requests, which take no time, do not.
        time.sleep(0.2 if pair.startswith(("worker", "beat")) else 0.02)
    if fault == LATE:
        seconds_until(partial(network.has_missed_deadline, pair), 30)
    network.proxies[pair].become()
    seconds_until(network.works, 20)
    if pair.startswith("beat"):
        seconds_until(Ages(network.product, network.account).is_signed, 60)
    if pair.endswith("collector"):
        after = len(network.collector.requests)
        seconds_until(partial(network.exports_traces, pair.split(maxsplit=1)[0], after), 20)
    unsure = network.tried - network.acknowledged  # also those of `works` before it succeeded
    retries = {text: network.write(text) for text in unsure}
    log = network.product.log("web").read_text(errors="replace")
    assert {*retries.values()} <= {200, 201}, f"a retry is safe: {retries}\n{log[-4000:]}"
    return statuses, longest


@pytest.mark.parametrize("group", GROUPS)
def test_faulty_network_loses_nothing(
    network: Network, record_figure: RecordFigure, group: str
) -> None:
    """Faults cause only documented errors within the limits, and no process has to restart."""
    running = network.product.pids()
    network.uses_mcp = group == "tool calls"
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
    stored = Counter(row.content for row in rows)
    assert network.tried == network.acknowledged
    assert set(stored) == network.acknowledged
    assert set(stored.values()) == {1}
    network.product.command("fsck")
    times = ", ".join(f"{pair} {seconds:.1f} s" for pair, seconds in slowest.items())
    record_figure(
        f"{len(GROUPS[group])} faults, {len(stored)} memories once each; slowest request: {times}"
    )
