"""The database crashes during writes; acknowledged writes survive, whole."""

import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event

import psycopg
import pytest

from kmapp.accounts.models import Account
from tests.chaos.conftest import ChaosServer
from tests.chaos.measure import limit, seconds_until
from tests.chaos.product import Product
from tests.promises.plugin import RecordFigure

pytestmark = pytest.mark.chaos

WRITERS = 4
BATCH = 25  # entries of one write
ENOUGH = 1000  # acknowledged before the crash

# Only in the account of the test, because other tests erase memories that their commits name.
ORPHANS = {
    "entry without commit": """
        SELECT count(*) FROM memory_memoryentry e WHERE e.account_id = %(of)s AND NOT EXISTS (
          SELECT FROM ledger_commit c WHERE c.account_id = e.account_id AND c.id = e.commit_id)""",
    "commit without its entries": """
        SELECT count(*) FROM ledger_commit c, jsonb_array_elements(c.diff) changed
        WHERE c.account_id = %(of)s AND changed ->> 'object' LIKE 'memory.memoryentry:%%'
          AND NOT EXISTS (
          SELECT FROM memory_memoryentry e WHERE e.account_id = c.account_id
            AND e.id::text = split_part(changed ->> 'object', ':', 2))""",
    "entry that owes nothing": """
        SELECT count(*) FROM memory_memoryentry e WHERE e.account_id = %(of)s AND NOT EXISTS (
          SELECT FROM outbox_outboxevent o JOIN outbox_delivery d ON d.event_id = o.id
          WHERE o.account_id = e.account_id AND o.payload ->> 'entry' = e.id::text)""",
    "event without entry": """
        SELECT count(*) FROM outbox_outboxevent o
        WHERE o.account_id = %(of)s AND o.payload ? 'entry' AND NOT EXISTS (
          SELECT FROM memory_memoryentry e WHERE e.id::text = o.payload ->> 'entry')""",
    "event without delivery": """
        SELECT count(*) FROM outbox_outboxevent o WHERE o.account_id = %(of)s AND NOT EXISTS (
          SELECT FROM outbox_delivery d WHERE d.event_id = o.id)""",
    "words without entry": """
        SELECT count(*) FROM search_indexeddocument d WHERE d.account_id = %(of)s AND NOT EXISTS (
          SELECT FROM memory_memoryentry e WHERE e.id = d.document)""",
    "entry without words": """
        SELECT count(*) FROM memory_memoryentry e WHERE e.account_id = %(of)s AND NOT EXISTS (
          SELECT FROM search_indexeddocument d WHERE d.account_id = e.account_id
            AND d.collection = 'memory' AND d.document = e.id)""",
    "version without entry": """
        SELECT count(*) FROM memory_memoryversion v WHERE v.account_id = %(of)s AND NOT EXISTS (
          SELECT FROM memory_memoryentry e WHERE e.id = v.entry_id)""",
}


@dataclass
class Writer:
    """A client that writes batch after batch, and repeats each until it is acknowledged."""

    product: Product
    name: str
    acknowledged: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)  # of acknowledgements
    last_failure: float = 0.0

    def write_until(self, stop: Event) -> None:
        for body in self.bodies():
            while not self._accepted(body):
                self.last_failure = time.monotonic()
                time.sleep(0.1)
            self.times.append(time.monotonic())
            self.acknowledged += [node["client_id"] for node in body["nodes"]]
            if stop.is_set():
                return
            if len(self.acknowledged) >= ENOUGH / WRITERS:
                time.sleep(0.5)  # otherwise the worker has minutes of work left at the end

    def seconds_to_recover(self, moment: float) -> float:
        """Return the seconds from `moment` until requests succeed and no later one fails."""
        return max(self.last_failure, next(each for each in self.times if each > moment)) - moment

    def bodies(self) -> Iterator[dict[str, list[dict[str, str]]]]:
        number = len(self.acknowledged)
        while True:
            names = [f"{self.name}-{number + each}" for each in range(BATCH)]
            number += BATCH
            yield {
                "nodes": [
                    {"client_id": name, "text": f"Note {name} of a busy day.", "user_id": "ann"}
                    for name in names
                ]
            }

    def _accepted(self, body: object) -> bool:
        try:
            answer = self.product.post("memory/write", body)
        except OSError:
            return False
        assert answer.status in (200, 201, 503), answer
        return answer.status in (200, 201)


@pytest.mark.alone
@pytest.mark.promise(1)
def test_database_crash_loses_no_acknowledged_write(
    product: Product, acme: Account, chaos_server: ChaosServer, record_figure: RecordFigure
) -> None:
    """Stop PostgreSQL in immediate mode during writes; no row is missing or orphaned."""
    product.ensure_running("valkey", "provider", "web", "worker", "beat")
    writers = [Writer(product, letter) for letter in "abcd"]
    stop = Event()
    with ThreadPoolExecutor(WRITERS) as threads:
        done = [threads.submit(writer.write_until, stop) for writer in writers]
        try:
            time.sleep(3)
            seconds_until(lambda: sum(len(writer.acknowledged) for writer in writers) >= ENOUGH, 60)
            before = {name for writer in writers for name in writer.acknowledged}
            crashed = time.monotonic()
            _crash(chaos_server)
            chaos_server.postgres.start()
            seconds_until(lambda: all(writer.times[-1] > crashed + 1 for writer in writers), 10)
            time.sleep(2)  # the writers continue
        finally:
            stop.set()
        for each in done:
            each.result()
    back = max(writer.seconds_to_recover(crashed) for writer in writers)
    acknowledged = {name for writer in writers for name in writer.acknowledged}
    assert len(acknowledged) > len(before), "they went on"
    assert back <= limit(10)
    with psycopg.connect(chaos_server.postgres.url(database="whole")) as server:
        there = server.execute(
            "SELECT client_id FROM memory_memoryentry WHERE account_id = %s", [acme.pk]
        ).fetchall()
        assert acknowledged - {row[0] for row in there} == set()
        assert len(there) == len({row[0] for row in there})
        orphans = {
            what: server.execute(query, {"of": acme.pk}).fetchone()
            for what, query in ORPHANS.items()
        }
    assert {what: results for what, results in orphans.items() if results != (0,)} == {}
    assert product.request("GET", "memory/verify").body["ok"]
    record_figure(
        f"0 of {len(acknowledged):,} lost, {len(before):,} of them from before the crash;"
        f" healthy after {back:.1f} s"
    )
    seconds_until(lambda: not product.count_pending_embeddings(), 120)  # the worker recovers, too


def _crash(chaos_server: ChaosServer) -> None:
    process = chaos_server.postgres.process
    assert process
    process.send_signal(signal.SIGQUIT)  # what pg_ctl stop -m immediate sends
    process.wait(limit(10))
