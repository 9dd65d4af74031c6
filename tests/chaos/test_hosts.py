"""Workers on two hosts share PostgreSQL and Valkey; one of the hosts disappears."""

import time
from uuid import UUID

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.outbox.models import Delivery
from kmapp.search.models import Vector
from memory.models import MemoryEntry
from memory.models.entries import COLLECTION
from tests.chaos.conftest import ChaosServer, SeparateProduct
from tests.chaos.hosts import open_hosts
from tests.chaos.measure import long, seconds_until
from tests.chaos.product import Product
from tests.promises.plugin import RecordFigure

pytestmark = [pytest.mark.chaos, pytest.mark.promise(8), pytest.mark.alone, long]

BATCHES, BATCH = 12, 200
WINDOW = 40  # seconds in which a rate is measured
REQUIRED_RATIO = 1.7  # of the rates with two hosts and with one


def write_memories(product: Product) -> int:
    for batch in range(BATCHES):
        nodes = [
            {"text": f"Box {batch}-{number} is on shelf {number}.", "user_id": f"u{batch}"}
            for number in range(BATCH)
        ]
        answer = product.post("memory/write", {"nodes": nodes})
        assert answer.status == 201, answer
    return BATCHES * BATCH


def list_embedded(account: Account) -> list[UUID]:
    with acting(account):
        ready = Vector.objects.of(account).filter(state=Vector.State.READY, collection=COLLECTION)
        return list(ready.values_list("object_id", flat=True))


def measure_rate(account: Account) -> float:
    """Return the number of memories embedded per second, measured during `WINDOW`."""
    before = len(list_embedded(account))
    began = time.monotonic()
    time.sleep(WINDOW)
    return (len(list_embedded(account)) - before) / (time.monotonic() - began)


def test_second_host_adds_throughput_and_loses_nothing_when_it_disappears(
    chaos_server: ChaosServer, separate_product: SeparateProduct, record_figure: RecordFigure
) -> None:
    """A host disappears while its worker embeds."""
    with separate_product() as (product, account):
        product.ensure_running("valkey", "web", "beat")
        with open_hosts(chaos_server, product, ["kmapp-host-1", "kmapp-host-2"]) as (first, second):
            number = write_memories(product)
            first.ensure_running("provider", "worker")
            seconds_until(lambda: bool(list_embedded(account)), 60)
            one = measure_rate(account)
            second.ensure_running("provider", "worker")
            time.sleep(5)  # both work at their full rate
            two = measure_rate(account)
            assert len(list_embedded(account)) < number, "nothing was left to lose"
            second.disappear()
            seconds = seconds_until(lambda: len(list_embedded(account)) == number, 180)
            seconds_until(product.is_idle, 120)
        record_figure(
            f"{one:.0f} texts a second with one host, {two:.0f} with two; "
            f"all {seconds:.0f} s after the second disappeared"
        )
        embedded = list_embedded(account)
        with acting(account):
            assert sorted(embedded) == sorted(
                MemoryEntry.objects.of(account).values_list("pk", flat=True)
            )
            assert not Delivery.objects.of(account).dead().exists()
        product.command("fsck")
        assert two >= REQUIRED_RATIO * one
