"""Parsers read decompression bombs while other jobs run."""

import base64
import time

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from knowledge.models import KnowledgeDocument
from tests.chaos.measure import long, percentile, seconds_until
from tests.chaos.product import Product
from tests.promises.plugin import RecordFigure

pytestmark = [pytest.mark.chaos, pytest.mark.alone, long]

BOMBS = 4
WRITES = 40
WARM = 20  # writes before the measurement, because a slow start would raise the limit
NESTED = base64.b64encode(b"a+" * 600_000).decode()  # the code splitter takes until its time limit


def measure_embedding_delay(product: Product, number: int) -> float:
    """Write a memory; return the seconds until a worker has embedded it."""
    began = time.monotonic()
    body = {"text": f"Note {number}: dock {number % 17} is free again.", "user_id": "ann"}
    pk = product.post("memory/store", body).body["id"]
    while product.post("memory/get", {"id": pk}).body["embedding_status"] != "READY":
        assert time.monotonic() - began < 60
        time.sleep(0.02)
    return time.monotonic() - began


def count_pending_documents(account: Account) -> int:
    with acting(account):
        return KnowledgeDocument.objects.of(account).filter(state="pending").count()


@pytest.mark.promise(37)
def test_decompression_bombs_do_not_block_the_queue(
    acme: Account, product: Product, record_figure: RecordFigure
) -> None:
    """While bombs are parsed, the p95 of other jobs is at most twice as high.

    A tenth of a second is added to that limit, because parsers and jobs share the processor.
    """
    product.ensure_running("valkey", "provider", "worker", "web")
    for number in range(WARM):
        measure_embedding_delay(product, number)
    healthy = percentile(
        [measure_embedding_delay(product, number) for number in range(WRITES)], 0.95
    )
    for number in range(BOMBS):
        documents = [{"ref": f"{number}.js", "content_base64": NESTED}]
        body = {"source": {"name": f"bombs {number}"}, "documents": documents}
        assert product.post("knowledge/ingest", body).status == 201
    hurt: list[float] = []
    while len(hurt) < WRITES and count_pending_documents(acme):
        hurt.append(measure_embedding_delay(product, len(hurt)))
    assert len(hurt) > WRITES / 2, "the bombs were over too soon to tell"
    p95 = percentile(hurt, 0.95)
    record_figure(
        f"p95 of other jobs with bombs {p95 * 1000:.0f} ms, {healthy * 1000:.0f} ms without"
    )
    assert p95 <= 2 * healthy + 0.1
    seconds_until(lambda: not count_pending_documents(acme), 20 * BOMBS)
    with acting(acme):
        states = set(KnowledgeDocument.objects.of(acme).values_list("state", flat=True))
    assert states == {"failed"}
