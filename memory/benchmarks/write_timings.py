"""Write timings, side by side with bare INSERTs."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from django.db import connection, connections

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.database.ids import uuid7
from kmapp.management.benchmark import Times
from memory.actions.write_entries import write_batch
from memory.benchmarks.synthetic_entries import Writer
from memory.models.entry_input import Batch, NewEntry

BATCH = 200
CLIENTS = 8


@dataclass(frozen=True, kw_only=True)
class WriteTimes:
    """Timings of writes, and of a bare INSERT with its commit."""

    bare: Times
    single: Times
    batch: Times  # of 200
    concurrent_rate: float  # single writes per second of all clients together


def measure_writes(account: Account, writer: Writer, number: int) -> WriteTimes:
    """Measure single writes, batches and durable INSERTs."""
    bare, single, batch = Times(), Times(), Times()
    for _ in range(3):
        _write(account, writer, 1)
    for text in writer.texts(number):
        with bare.timed():
            _insert(text)
        with single.timed():
            _write(account, writer, 1)
    for _ in range(max(number // 20, 5)):
        with batch.timed():
            _write(account, writer, BATCH)
    rate = _measure_concurrent_rate(account, writer, number)
    return WriteTimes(bare=bare, single=single, batch=batch, concurrent_rate=rate)


def _measure_concurrent_rate(account: Account, writer: Writer, number: int) -> float:
    """Write `number` memories from each of several clients to the account's one chain."""

    def write_in_thread(_client: int) -> None:
        try:
            for _ in range(number):
                _write(account, writer, 1)
        finally:
            connection.close()

    connection.close()  # the pool has one connection for each client
    began = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(write_in_thread, range(CLIENTS)))
    return CLIENTS * number / (time.perf_counter() - began)


def _write(account: Account, writer: Writer, number: int) -> None:
    entries = [
        NewEntry(text=text, user_id="writer", run_id="bench", client_id=f"{uuid7()}")
        for text in writer.texts(number)
    ]
    with acting(account):
        write_batch(account_id=account.pk, actor=SYSTEM, batch=Batch(entries=entries))


def _insert(text: str) -> None:
    with connections["owner"].cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS perf_scratch (content text)")
        cursor.execute("INSERT INTO perf_scratch VALUES (%s)", [text])
