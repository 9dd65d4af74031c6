"""Web processes are killed before they answer, get no connection, or receive too much."""

import http.client
import multiprocessing
import os
import resource
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from select import select
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.ledger.models import Commit
from kmapp.runtime.gunicorn_worker import SILENCE
from memory.models import MemoryEntry
from tests import makers
from tests.chaos.conftest import ChaosServer
from tests.chaos.crash_middleware import CRASH_HEADER
from tests.chaos.measure import amount, long, percentile, seconds_until
from tests.chaos.product import Answer, Product
from tests.promises.plugin import RecordFigure

pytestmark = [pytest.mark.chaos, pytest.mark.alone]

CUTS = amount(100, 20)
QUESTION_COUNT = amount(100, 24)
PAGES = ("/", "/v1/health", "/memory/", "/review/")  # none redirects a user who signed in
CALLS = 100  # of another client
MEGABYTE = 2**20
PAUSE = 0.5  # seconds between two bodies that are too large
SILENT_CLIENTS = 12
# One process may accept all of them, and its four threads serve them in turn. One turn is spare.
SILENT_SECONDS = (SILENT_CLIENTS / 4 + 1) * SILENCE
EXPECTED_REFUSALS = {("1 MB", 400), ("3 MB", 413), ("10,000 items", 400), ("200 MB", 413)}


# --- Lost responses -------------------------------------------------------------------------------


def ask_until_answered(product: Product, body: Any, **headers: str) -> Answer:
    """Repeat a request until there is a response, as a client does."""
    for _each in range(100):
        try:
            return product.request("POST", "memory/store", body, **headers)
        except OSError:
            time.sleep(0.1)
    raise AssertionError("no answer in a hundred tries")


@pytest.mark.promise(2)
def test_write_with_a_lost_response_can_be_retried(
    product: Product, acme: Account, record_figure: RecordFigure
) -> None:
    """Half of the writes have a client_id, half an idempotency key."""
    product.ensure_running("valkey", "provider", "web")
    with acting(acme):
        before = Commit.objects.of(acme).count()
    for number in range(CUTS):
        body = {"text": f"Note {number} of a short-lived process.", "user_id": "ann"}
        name = f"cut-{number}"
        known = {"Idempotency_Key": name} if number % 2 else {}
        body |= {} if known else {"client_id": name}
        with pytest.raises(OSError, match=r".*"):
            product.request("POST", "memory/store", body, **known, **{CRASH_HEADER: "now"})
        with acting(acme):
            [entry] = MemoryEntry.objects.of(acme).filter(content=body["text"])
        again = [ask_until_answered(product, body, **known) for _each in range(2)]
        assert [answer.body["id"] for answer in again] == [str(entry.pk)] * 2
        assert {answer.status for answer in again} == ({201} if known else {200})
    with acting(acme):
        assert MemoryEntry.objects.of(acme).count() == CUTS
        assert Commit.objects.of(acme).count() == before + CUTS
    record_figure(f"{CUTS} of {CUTS}: one memory, one commit, the same id")


# --- A database without free connections ----------------------------------------------------------


@pytest.mark.promise(15)
def test_full_database_returns_503(
    product: Product, acme: Account, chaos_server: ChaosServer, record_figure: RecordFigure
) -> None:
    product.ensure_running("valkey", "provider")
    if "web" in product.running:
        product.kill("web")  # which closes its connections
    product.ensure_running("web")

    session = signed_in(acme)

    def ask(number: int) -> Answer:
        if number % 3 == 0:
            return product.request("GET", PAGES[number // 3 % len(PAGES)], Cookie=session)
        if number % 3 == 1:
            return product.post("memory/search", {"query": f"Dock {number}?"})
        return product.post("memory/store", {"text": f"Note {number}.", "user_id": "ann"})

    with ExitStack() as stack:
        take_all_but(2, chaos_server, stack)
        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(ask, range(QUESTION_COUNT)))
    back = seconds_until(
        lambda: product.post("memory/store", {"text": "Room.", "user_id": "ann"}).status == 201, 5
    )
    statuses = Counter(answer.status for answer in answers)
    record_figure(f"{dict(sorted(statuses.items()))}; healthy {back:.1f} s after the release")
    refused = [answer for answer in answers if answer.status >= 300]
    assert {answer.status for answer in refused} == {503}
    for answer in refused:
        assert int(answer.headers["Retry-After"]) > 0, answer


def signed_in(account: Account) -> str:
    """Return the session cookie of a user who signed in."""
    person = Client()
    person.force_login(makers.member(account, f"ada-{account.slug}", role="admin"))
    return f"{settings.SESSION_COOKIE_NAME}={person.cookies[settings.SESSION_COOKIE_NAME].value}"


def take_all_but(few: int, chaos_server: ChaosServer, stack: ExitStack) -> None:
    """Hold so many connections to the server that only a few are left."""
    counter = stack.enter_context(psycopg.connect(chaos_server.postgres.url(), autocommit=True))

    def one(query: str) -> int:
        row = counter.execute(query).fetchone()
        assert row
        return int(row[0])

    most = one("SELECT current_setting('max_connections')::int")
    while one("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'") < (
        most - few
    ):
        stack.enter_context(psycopg.connect(chaos_server.postgres.url()))


# --- Large and slow requests ----------------------------------------------------------------------


def flood(port: int, key: str, outcomes: Any) -> None:
    """Send large requests again and again, and report the statuses."""

    def send(body: Any, *, chunked: bool = False) -> int:
        time.sleep(PAUSE)
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        line.request("POST", "/v1/memory/write", body, headers, encode_chunked=chunked)
        status = line.getresponse().status
        line.close()
        return status

    nodes = b'{"nodes": [' + b",".join([b'{"text": "a", "user_id": "u"}'] * 10_000) + b"]}"
    text = b'{"nodes": [{"text": "' + b"a" * MEGABYTE + b'"}]}'
    while True:
        outcomes.put(("1 MB", send(text)))
        outcomes.put(("3 MB", send(b" " * 3 * MEGABYTE)))
        outcomes.put(("10,000 items", send(nodes)))
        outcomes.put(("200 MB", send((b" " * MEGABYTE for _each in range(200)), chunked=True)))


def trickle(port: int, key: str, outcomes: Any) -> None:
    """Send a body that never ends, and report when the connection is closed."""
    head = (
        f"POST /v1/memory/write HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
    )
    while True:
        with socket.create_connection(("127.0.0.1", port)) as line, suppress(OSError):
            line.sendall(head.encode())
            while not select([line], [], [], 0.5)[0]:
                line.sendall(b" ")
        outcomes.put(("a trickle", 0))  # disconnected: open another connection


UNFINISHED_REQUESTS = (
    b"P",
    b"POST /v1/memory/write HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
    b"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\nCookie: csrftoken=%b\r\n\r\nusername="
    % (b"a" * 32),
)


@pytest.mark.promise(33)
def test_silent_client_is_disconnected(product: Product, acme: Account) -> None:
    """More clients than threads stop sending, in the head, the body or a form.

    Others are served, and each silent client is answered or disconnected.
    """
    product.ensure_running("valkey", "provider", "web")
    lines: list[socket.socket] = []
    with ExitStack() as stack:
        for number in range(SILENT_CLIENTS):
            line = stack.enter_context(socket.create_connection(("127.0.0.1", product.port)))
            line.sendall(UNFINISHED_REQUESTS[number % len(UNFINISHED_REQUESTS)])
            lines.append(line)
        deadline = time.monotonic() + SILENT_SECONDS
        time.sleep(1)
        assert product.request("GET", "health").status == HTTPStatus.OK
        for line in lines:
            seconds = max(deadline - time.monotonic(), 0)
            assert select([line], [], [], seconds)[0], "neither answered nor disconnected"


def memory_of(leader: int) -> list[int]:
    """Return the resident memory of each child of a process, in bytes."""
    children = Path(f"/proc/{leader}/task/{leader}/children").read_text().split()
    pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in children]
    return [number * resource.getpagesize() for number in pages]


@long
@pytest.mark.promise(33)
def test_large_upload_blocks_no_other_request(
    product: Product, acme: Account, record_figure: RecordFigure
) -> None:
    product.ensure_running("valkey", "provider", "web")

    def p95() -> float:
        body = [{"query": f"Dock {number}?", "user_id": "ann"} for number in range(CALLS)]
        answers = [product.post("memory/search", each) for each in body]
        assert {answer.status for answer in answers} == {200}
        return percentile([answer.seconds for answer in answers], 0.95)

    p95()
    usual, before = p95(), max(memory_of(product.running["web"].pid))
    with crowded(product) as outcomes:
        statuses = {outcomes.get(timeout=60) for _each in EXPECTED_REFUSALS}
        rounds = [p95()]
        while rounds[-1] > 2 * usual and len(rounds) < 4:  # other processes only add to the time
            rounds.append(p95())
        hurt = min(rounds)
        grown = max(memory_of(product.running["web"].pid)) - before
        while not outcomes.empty():
            statuses.add(outcomes.get())
        statuses.add(outcomes.get(timeout=60))  # the senders continue
    record_figure(
        f"{', '.join(f'{what}: {status}' for what, status in sorted(statuses))}; grown by"
        f" {grown / MEGABYTE:.0f} MB; others' p95 {hurt * 1000:.0f} ms, {usual * 1000:.0f} ms alone"
    )
    assert statuses == EXPECTED_REFUSALS, (
        "each is refused as it should be, and nobody who trickles is sent away"
    )
    assert grown <= 100 * MEGABYTE
    assert hurt <= 2 * usual


@contextmanager
def crowded(product: Product) -> Iterator[Any]:
    """Run one flood and three slow senders during the block; yield their reports."""
    outcomes: Any = multiprocessing.get_context("fork").Queue()
    crowd = [start_sender(flood, product.port, product.key, outcomes)]
    crowd += [start_sender(trickle, product.port, product.key, outcomes) for _each in range(3)]
    try:
        yield outcomes
        assert all(each.is_alive() for each in crowd), "a sender ended early"
    finally:
        for each in crowd:
            each.kill()
            each.join()


def start_sender(work: Callable[..., None], *about: Any) -> Any:
    """Start a process of low priority, so that sending takes no time of the product."""

    def send() -> None:
        os.nice(19)
        work(*about)

    process = multiprocessing.get_context("fork").Process(target=send, daemon=True)
    process.start()
    return process
