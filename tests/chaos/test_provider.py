"""Writes and searches succeed while the embedder is down."""

import signal
from collections.abc import Iterator, Sequence
from functools import partial
from statistics import geometric_mean

import pytest
from pytest_django import DjangoDbBlocker

from kmapp.accounts.models import Account
from tests import makers
from tests.chaos.conftest import ChaosServer, connected_to
from tests.chaos.measure import amount, limit, percentile, seconds_until
from tests.chaos.product import Answer, Product
from tests.promises.plugin import RecordFigure

pytestmark = [pytest.mark.chaos, pytest.mark.alone]

ROUND = 200  # writes to each product
ROUNDS = amount(6, 1)
WRITES = ROUNDS * ROUND
RECALLS = 200
PROBES = 4  # most calls to the provider in a later round: one per window and process


@pytest.fixture
def twin(chaos_server: ChaosServer, django_db_blocker: DjangoDbBlocker) -> Iterator[Product]:
    """Yield a second product, with a database and an agent of its own."""
    product = chaos_server.product("twin")
    with django_db_blocker.unblock(), connected_to(chaos_server.postgres, "twin"):
        product.key = makers.key(makers.account("Acme"))[1]
    yield product
    product.kill(*product.running)


def write(product: Product, number: int) -> Answer:
    text = f"Note {number}: the delivery to dock {number % 17} was late again."
    return product.post("memory/store", {"text": text, "user_id": "ann"})


def _caught_up(product: Product) -> bool:
    return product.count_pending_embeddings() == 0


@pytest.mark.promise(4)
def test_writes_succeed_without_the_embedder(
    acme: Account, product: Product, twin: Product, record_figure: RecordFigure
) -> None:
    """Every write returns 201 without the provider, with at most 1.2 times the healthy p95.

    All memories are embedded within 60 s of the provider's return. Two products take turns, write
    by write, so that other processes slow down both alike. A short disturbance would still decide
    the p95 of a whole run, so the ratio is the mean of several rounds, none of which is left out.
    """
    for each in (product, twin):
        each.ensure_running("valkey", "provider", "web", "worker", "beat")
        for number in range(20):
            write(each, -1 - number)
        seconds_until(partial(_caught_up, each), 60)
    twin.kill("provider")
    healthy: list[Answer] = []
    without: list[Answer] = []
    for number in range(WRITES):
        pair = [(product, healthy), (twin, without)]
        for each, answers in pair if number % 2 else reversed(pair):
            answers.append(write(each, number))
    assert {answer.status for answer in healthy + without} == {201}
    assert twin.count_pending_embeddings() == WRITES
    twin.ensure_running("provider")
    seconds = seconds_until(partial(_caught_up, twin), 60)
    ratios = [one / other for one, other in zip(_p95s(without), _p95s(healthy), strict=True)]
    ratio = geometric_mean(ratios)
    record_figure(
        f"{WRITES} of {WRITES} a 201, p95 {ratio:.2f} times that with a healthy embedder (mean of"
        f" {ROUNDS} rounds, {min(ratios):.2f} to {max(ratios):.2f}); READY {seconds:.1f} s after"
        " its return"
    )
    assert ratio <= limit(1.2)


def _p95s(answers: Sequence[Answer]) -> list[float]:
    """Return the p95 of each round, in seconds."""
    seconds = [each.seconds for each in answers]
    starts = range(0, len(seconds), ROUND)
    return [percentile(seconds[start : start + ROUND], 0.95) for start in starts]


@pytest.fixture
def product_with_memories(acme: Account, product: Product) -> Iterator[Product]:
    """Yield a product with memories to find and closed circuit breakers."""
    product.ensure_running("valkey", "provider", "worker", "beat")
    if "web" in product.running:
        product.kill("web")
    product.ensure_running("web")
    nodes = [{"text": f"Crate {n} holds lamps.", "user_id": "ann"} for n in range(50)]
    assert product.post("memory/write", {"nodes": nodes}).status == 201
    seconds_until(lambda: _caught_up(product), 60)
    try:
        yield product
    finally:
        product.signal("provider", signal.SIGCONT)


@pytest.mark.promise(16)
def test_recall_succeeds_without_the_embedder(
    product_with_memories: Product, record_figure: RecordFigure
) -> None:
    """While the provider hangs, searches return results by keywords in time, and report it."""
    for number in range(20):  # warm up each process
        assert (
            product_with_memories.post("memory/search", {"query": f"Lamp {number}?"}).status == 200
        )
    product_with_memories.signal("provider", signal.SIGSTOP)
    waited, then = measure_searches(product_with_memories, 0)
    assert len(waited) <= 20, "the circuit opened, in each of two processes"
    rounds = [percentile(then, 0.99)]
    while rounds[-1] > limit(0.150) and len(rounds) < 4:  # other processes only add to the time
        probes, then = measure_searches(product_with_memories, RECALLS * len(rounds))
        assert len(probes) <= limit(PROBES), "it stayed open"
        waited += probes
        rounds.append(percentile(then, 0.99))
    record_figure(
        f"{len(waited)} waited, p99 {percentile(waited, 0.99):.2f} s; {len(then)} did not, p99"
        f" {min(rounds) * 1000:.0f} ms in round {len(rounds)}"
    )
    assert percentile(waited, 0.99) <= limit(2.0)
    assert min(rounds) <= limit(0.150)


def measure_searches(product: Product, start: int) -> tuple[list[float], list[float]]:
    """Return the seconds of searches that waited for the embedder, and of those that did not.

    Each search reports either a timeout or an open circuit.
    """
    results: dict[str, list[float]] = {"km_timeout": [], "km_circuit_open": []}
    for number in range(start, start + RECALLS):
        answer = recall(product, number)
        results[code(answer)].append(answer.seconds)
    return results["km_timeout"], results["km_circuit_open"]


def recall(product: Product, number: int) -> Answer:
    """Search with a new query; require results and return the response."""
    body = {"query": f"Where is crate {number % 50}? ({number})", "user_id": "ann"}
    answer = product.post("memory/search", body)
    assert answer.status == 200
    assert answer.body["results"]
    return answer


def code(answer: Answer) -> str:
    return str(answer.body["decisions"][0]["code"])
